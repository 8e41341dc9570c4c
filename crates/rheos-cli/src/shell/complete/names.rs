//! What there is to be named: taken from the session after each statement that changes it.

use rheos::{RelationInfo, Session};

/// All names that completion offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Tables and views.
    pub(crate) relations: Vec<RelationInfo>,
    /// Functions that give values.
    pub(super) functions: Vec<&'static str>,
    /// Keys of SET, with what they mean.
    pub(super) settings: Vec<(&'static str, &'static str)>,
    /// Connectors.
    pub(super) connectors: Vec<Part>,
    /// Formats.
    pub(super) formats: Vec<Part>,
}

/// A connector or a format.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    /// Its options: key and meaning.
    pub(super) options: Vec<(&'static str, &'static str)>,
    /// Whether it wants a format.
    pub(super) takes_format: bool,
}

impl Names {
    /// Those of a session.
    pub(crate) fn of(session: &Session) -> Names {
        let registry = session.connectors();
        let connectors = registry.connectors().filter(|c| !c.doc.starts_with("internal")).map(|c| Part {
            name: c.name,
            doc: c.doc,
            options: c.options.iter().map(|o| (o.key, o.doc)).collect(),
            takes_format: c.takes_format,
        });
        let formats = registry.formats().map(|f| Part {
            name: f.name,
            doc: f.doc,
            options: f.options.iter().map(|o| (o.key, o.doc)).collect(),
            takes_format: false,
        });
        let mut functions: Vec<&'static str> = rheos::functions().iter().map(|f| f.name).collect();
        functions.dedup();
        Names {
            relations: session.relations(),
            functions,
            settings: Session::known_settings().map(|(key, _, doc)| (key, doc)).collect(),
            connectors: connectors.collect(),
            formats: formats.collect(),
        }
    }

    /// The relations have changed.
    pub(crate) fn refresh(&mut self, session: &Session) {
        self.relations = session.relations();
    }

    pub(super) fn relation(&self, name: &str) -> Option<&RelationInfo> {
        self.relations.iter().find(|r| r.name == name)
    }
}
