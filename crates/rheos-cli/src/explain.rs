//! `rheos explain`: the plans of a script's queries and inserts.

use rheos::{Explain, Parsed, Prepared, Statement};

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::prepare;
use crate::run::write_out;
use crate::script::Script;
use crate::settings::Settings;

/// Carries the command out.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let scripts = Script::read_all(&args.script)?;
    let settings = Settings::collect(&args.script)?;
    let (mut session, statements) = prepare::begin(&scripts, &settings)?;
    let mut texts = Vec::new();
    for (script, parsed) in &statements {
        for statement in explained(&parsed.statement) {
            let parsed = Parsed { statement, ..parsed.clone() };
            let wrong = |e| script.wrong(&prepare::at_statement(e, &parsed));
            match prepare::prepare(&mut session, &parsed, &settings, &wrong)? {
                Prepared::Text(text) => texts.push((parsed, text)),
                Prepared::Done(notes) => notes.iter().for_each(|note| eprintln!("note: {note}")),
                Prepared::Table { .. } | Prepared::Job(_) => {}
            }
        }
    }
    if texts.is_empty() {
        return Err(Failure::wrong("no query and no INSERT to explain"));
    }
    let several = texts.len() > 1;
    let section = |(parsed, text): &(Parsed, String)| {
        let title = if several { format!("-- {}\n", first_line(&parsed.text)) } else { String::new() };
        format!("{title}{}\n", text.trim_end())
    };
    write_out(&texts.iter().map(section).collect::<Vec<_>>().join("\n"))
}

/// What is prepared in a statement's stead: queries and inserts are explained, the others done.
fn explained(statement: &Statement) -> Vec<Statement> {
    let explain = |statement: Statement| Statement::Explain(Explain { statement: Box::new(statement), state: false });
    match statement {
        Statement::Query(_) | Statement::Insert(_) => vec![explain(statement.clone())],
        Statement::StatementSet(inserts) => inserts.iter().map(|i| explain(Statement::Insert(i.clone()))).collect(),
        other => vec![other.clone()],
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
