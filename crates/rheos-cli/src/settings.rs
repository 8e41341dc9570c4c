//! Where settings come from: `rheos.toml`, the environment, scripts and flags, each stronger than the one before.

use std::path::Path;

use rheos::{Session, SqlError};

use crate::args::{ScriptArgs, SnapshotArgs};
use crate::failure::Failure;
use crate::script::at_offset;

/// The file in the working directory.
const FILE: &str = "rheos.toml";

/// The settings around a script: weaker ones than its SET, and stronger ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// Of the file and the environment, with their origins.
    weak: Vec<Given>,
    /// Of the command line.
    strong: Vec<Given>,
}

/// A setting and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    key: String,
    value: String,
    origin: String,
}

impl Settings {
    /// All that is known before the script is read.
    pub(crate) fn collect(args: &ScriptArgs) -> Result<Settings, Failure> {
        Settings::around(&args.set, args.parallelism.as_deref())
    }

    /// The file, the environment and these flags.
    pub(crate) fn around(set: &[(String, String)], parallelism: Option<&str>) -> Result<Settings, Failure> {
        let mut settings = Settings::of_flags(set, parallelism);
        settings.weak = of_file(Path::new(FILE))?;
        settings.weak.extend(of_environment(|name| std::env::var(name).ok()));
        Ok(settings)
    }

    /// Adds what the flags about snapshots say.
    pub(crate) fn with_snapshots(mut self, args: &SnapshotArgs) -> Settings {
        let flags = [
            ("--checkpoint-dir", "execution.checkpointing.dir", &args.checkpoint_dir),
            ("--checkpoint-interval", "execution.checkpointing.interval", &args.checkpoint_interval),
        ];
        for (origin, key, value) in flags {
            if let Some(value) = value {
                self = self.with(key, value, origin);
            }
        }
        self
    }

    /// Only those of the command line.
    pub(crate) fn of_flags(set: &[(String, String)], parallelism: Option<&str>) -> Settings {
        let flag = |key: &str, value: &str, origin: &str| Given { key: key.into(), value: value.into(), origin: origin.into() };
        let set = set.iter().map(|(key, value)| flag(key, value, "--set"));
        let parallelism = parallelism.map(|n| flag("parallelism.default", n, "--parallelism"));
        Settings { weak: vec![], strong: set.chain(parallelism).collect() }
    }

    /// Gives them to a session. After a RESET in the script they hold again.
    pub(crate) fn apply(&self, session: &mut Session, only: Option<&str>) -> Result<(), Failure> {
        for given in self.weak.iter().chain(&self.strong).filter(|g| only.is_none_or(|key| g.key == key)) {
            let note = session.set(&given.key, &given.value).map_err(|e| Failure::wrong(format!("{}: {e}", given.origin)))?;
            if let Some(note) = note {
                eprintln!("note: {}: {note}", given.origin);
            }
        }
        Ok(())
    }

    /// Those that are weaker than the script's, and those that are stronger: key and value.
    pub(crate) fn pairs(&self) -> [Vec<(&str, &str)>; 2] {
        [&self.weak, &self.strong].map(|given| given.iter().map(|g| (g.key.as_str(), g.value.as_str())).collect())
    }

    /// With one more, as if the command line said so.
    pub(crate) fn with(mut self, key: &str, value: &str, origin: &str) -> Settings {
        self.strong.push(Given { key: key.into(), value: value.into(), origin: origin.into() });
        self
    }

    /// Whether the command line decides this key, so that SET in a script does not.
    pub(crate) fn is_fixed(&self, key: &str) -> bool {
        self.strong.iter().any(|g| g.key == key)
    }
}

/// `RHEOS_PARALLELISM_DEFAULT` for `parallelism.default`, for every key that Rheos knows.
fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Vec<Given> {
    let given = |key: &str| {
        let name = format!("RHEOS_{}", key.to_ascii_uppercase().replace(['.', '-'], "_"));
        variable(&name).map(|value| Given { key: key.to_string(), value, origin: name })
    };
    Session::known_settings().filter_map(|(key, ..)| given(key)).collect()
}

/// Tables are parts of keys: `[parallelism]` and below it `default = 2` is `parallelism.default`.
fn of_file(path: &Path) -> Result<Vec<Given>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(Failure::wrong(format!("'{}' cannot be read: {e}", path.display()))),
    };
    of_toml(&text).map_err(|e| Failure::Wrong(e.render(&text, &path.display().to_string())))
}

fn of_toml(text: &str) -> Result<Vec<Given>, SqlError> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let error = SqlError::new(e.message());
        match e.span() {
            Some(span) => at_offset(error, text, span.start),
            None => error,
        }
    })?;
    let mut settings = Vec::new();
    flatten(&table, "", &mut settings)?;
    Ok(settings)
}

fn flatten(table: &toml::Table, prefix: &str, settings: &mut Vec<Given>) -> Result<(), SqlError> {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let value = match value {
            toml::Value::Table(inner) => {
                flatten(inner, &key, settings)?;
                continue;
            }
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(_) => return Err(SqlError::new(format!("'{key}' is a list; settings are texts, numbers or booleans"))),
            other => other.to_string(),
        };
        settings.push(Given { key, value, origin: FILE.to_string() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_parts_of_keys() {
        let settings = of_toml("pipeline.name = \"it\"\n[parallelism]\ndefault = 2\n").unwrap();
        let pairs: Vec<_> = settings.iter().map(|g| (g.key.as_str(), g.value.as_str())).collect();
        assert_eq!(pairs, [("parallelism.default", "2"), ("pipeline.name", "it")]);
    }

    #[test]
    fn a_wrong_file_is_pointed_at() {
        let error = of_toml("a = 1\nb = = 2\n").unwrap_err();
        assert_eq!(error.place.line, 2);
        assert!(of_toml("a = [1]").unwrap_err().message.contains("'a' is a list"));
    }

    #[test]
    fn the_environment_spells_keys_in_capitals() {
        let settings = of_environment(|name| (name == "RHEOS_TABLE_LOCAL_TIME_ZONE").then(|| "Europe/Berlin".to_string()));
        assert_eq!(settings.len(), 1);
        assert_eq!(settings[0].key, "table.local-time-zone");
    }

    #[test]
    fn flags_are_stronger_than_the_environment() {
        let mut settings = Settings::of_flags(&[("pipeline.name".into(), "flag".into())], Some("3"));
        settings.weak = vec![Given { key: "pipeline.name".into(), value: "weak".into(), origin: "RHEOS_PIPELINE_NAME".into() }];
        let mut session = Session::new();
        settings.apply(&mut session, None).unwrap();
        let parsed = session.parse("SET").unwrap();
        let Ok(rheos::Prepared::Table { rows, .. }) = session.prepare(&parsed[0].statement) else { panic!("a table of settings") };
        assert_eq!(rows, [["parallelism.default", "3"], ["pipeline.name", "flag"]]);
        assert!(settings.is_fixed("parallelism.default") && !settings.is_fixed("table.local-time-zone"));
    }
}
