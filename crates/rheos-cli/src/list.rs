//! `rheos connectors` and `rheos functions`: what this binary has.

use rheos::Session;
use rheos_core::connector::OptionInfo;

use crate::args::ListArgs;
use crate::failure::Failure;
use crate::figures::table;
use crate::run::write_out;

/// Connectors and formats: with a name, each with its options.
pub(crate) fn connectors(args: &ListArgs) -> Result<(), Failure> {
    let session = Session::new();
    let registry = session.connectors();
    let mut entries: Vec<Entry> = registry
        .connectors()
        .filter(|c| !c.doc.starts_with("internal"))
        .map(|c| {
            let mut options = c.options.clone();
            if c.takes_format {
                options.push(OptionInfo::required("format", "how rows are written as bytes: one of the formats"));
            }
            let way = match (&c.source, &c.sink) {
                (Some(_), Some(_)) => "read, write",
                (Some(_), None) => "read",
                _ => "write",
            };
            Entry { name: c.name, kind: "connector", way, doc: c.doc, options }
        })
        .collect();
    entries.extend(registry.formats().map(|f| Entry { name: f.name, kind: "format", way: "", doc: f.doc, options: f.options.clone() }));
    let chosen = choose(entries, args.name.as_deref(), |e| e.name, "connector or format")?;
    if args.name.is_some() {
        let details: Vec<String> = chosen.iter().map(Entry::detail).collect();
        return write_out(&details.join("\n"));
    }
    let rows: Vec<Vec<String>> = chosen.iter().map(|e| [e.name, e.kind, e.way, e.doc].map(String::from).to_vec()).collect();
    let header = ["name", "kind", "can", "what it is"].map(String::from);
    write_out(&format!("{}\n\nrheos connectors NAME shows the options of one.\n", table(&header, &rows)))
}

/// A connector or a format.
struct Entry {
    name: &'static str,
    kind: &'static str,
    way: &'static str,
    doc: &'static str,
    options: Vec<OptionInfo>,
}

impl Entry {
    fn detail(&self) -> String {
        let way = if self.way.is_empty() { String::new() } else { format!(" ({})", self.way) };
        let mut text = format!("{} '{}'{way}\n{}\n", self.kind, self.name, self.doc);
        if self.options.is_empty() {
            return text + "No options.\n";
        }
        let default = |o: &OptionInfo| if o.required { "required".to_string() } else { o.default.to_string() };
        let rows: Vec<Vec<String>> = self.options.iter().map(|o| vec![o.key.to_string(), default(o), o.doc.to_string()]).collect();
        text.push_str(&format!("\n{}\n", table(&["option", "default", "what it does"].map(String::from), &rows)));
        text
    }
}

/// The functions of SQL, and how each is written.
pub(crate) fn functions(args: &ListArgs) -> Result<(), Failure> {
    let chosen = choose(rheos::functions(), args.name.as_deref(), |f| f.name, "function")?;
    let kind = |f: &rheos::FunctionInfo| if f.is_aggregate { "aggregate" } else { "scalar" };
    let rows: Vec<Vec<String>> = chosen.iter().map(|f| vec![f.name.to_string(), kind(f).to_string(), f.usage.clone()]).collect();
    write_out(&format!("{}\n", table(&["name", "kind", "usage"].map(String::from), &rows)))
}

/// How alike two names must be for one to be meant by the other, from 0 to 1.
const SIMILAR: f64 = 0.8;

/// Those whose name contains the text, in any case; if one is of exactly that name, only it.
fn choose<T>(all: Vec<T>, wanted: Option<&str>, name: impl Fn(&T) -> &str, what: &str) -> Result<Vec<T>, Failure> {
    let Some(wanted) = wanted else { return Ok(all) };
    let lower = wanted.to_lowercase();
    let likeness = |t: &T| (strsim::jaro_winkler(&name(t).to_lowercase(), &lower), name(t).to_string());
    let nearest = all.iter().map(likeness).filter(|(likeness, _)| *likeness > SIMILAR).max_by(|a, b| a.0.total_cmp(&b.0));
    let exact = all.iter().any(|t| name(t).to_lowercase() == lower);
    let fits = |t: &T| if exact { name(t).to_lowercase() == lower } else { name(t).to_lowercase().contains(&lower) };
    let chosen: Vec<T> = all.into_iter().filter(fits).collect();
    if chosen.is_empty() {
        let hint = nearest.map_or_else(String::new, |(_, name)| format!("; did you mean '{name}'?"));
        return Err(Failure::wrong(format!("no {what} has '{wanted}' in its name{hint}")));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_name_is_chosen_alone() {
        let names = || vec!["DATE_FORMAT", "FORMAT", "UPPER"];
        let chosen = |wanted| choose(names(), Some(wanted), |n| *n, "function");
        assert_eq!(chosen("format").unwrap(), ["FORMAT"]);
        assert_eq!(chosen("form").unwrap(), ["DATE_FORMAT", "FORMAT"]);
        let Err(Failure::Wrong(text)) = chosen("uper") else { panic!("no function of that name") };
        assert!(text.contains("did you mean 'UPPER'?"), "{text}");
    }
}
