//! What can be chosen by name: connectors, formats, operators, watermark generators, typed keys.
//!
//! The assembly fills one registry; the planner looks up what exists, the worker makes instances from the job graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::connector::{ConnectorInfo, FormatInfo};
use crate::error::{Error, Result};
use crate::key_group::KeySelector;
use crate::operator::Operator;
use crate::source::WatermarkGenerator;

type Make<T> = Arc<dyn Fn(&Registry, &Value) -> Result<Box<T>> + Send + Sync>;

/// Factories by name.
#[derive(Clone, Default)]
pub struct Registry {
    connectors: BTreeMap<String, ConnectorInfo>,
    formats: BTreeMap<String, FormatInfo>,
    operators: BTreeMap<String, Make<dyn Operator>>,
    generators: BTreeMap<String, Make<dyn WatermarkGenerator>>,
    keys: BTreeMap<String, Make<dyn KeySelector>>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector under its name.
    pub fn add_connector(&mut self, connector: ConnectorInfo) {
        self.connectors.insert(connector.name.to_string(), connector);
    }

    /// Adds a format under its name.
    pub fn add_format(&mut self, format: FormatInfo) {
        self.formats.insert(format.name.to_string(), format);
    }

    /// Adds a way to make an operator of `kind` from its specification.
    pub fn add_operator(&mut self, kind: &str, make: impl Fn(&Value) -> Result<Box<dyn Operator>> + Send + Sync + 'static) {
        self.operators.insert(kind.to_string(), Arc::new(move |_, spec| make(spec)));
    }

    /// The same for an operator that reads tables by itself: it is given the registry, to find their connectors in.
    pub fn add_reading_operator(
        &mut self,
        kind: &str,
        make: impl Fn(&Registry, &Value) -> Result<Box<dyn Operator>> + Send + Sync + 'static,
    ) {
        self.operators.insert(kind.to_string(), Arc::new(make));
    }

    /// Adds a way to make a watermark generator of `kind` from its specification.
    pub fn add_watermark_generator(
        &mut self,
        kind: &str,
        make: impl Fn(&Value) -> Result<Box<dyn WatermarkGenerator>> + Send + Sync + 'static,
    ) {
        self.generators.insert(kind.to_string(), Arc::new(move |_, spec| make(spec)));
    }

    /// Adds a way to find the keys of typed rows.
    pub fn add_key_selector(&mut self, kind: &str, make: impl Fn(&Value) -> Result<Box<dyn KeySelector>> + Send + Sync + 'static) {
        self.keys.insert(kind.to_string(), Arc::new(move |_, spec| make(spec)));
    }

    /// The connector of that name.
    pub fn connector(&self, name: &str) -> Option<&ConnectorInfo> {
        self.connectors.get(name)
    }

    /// All connectors, by name.
    pub fn connectors(&self) -> impl Iterator<Item = &ConnectorInfo> {
        self.connectors.values()
    }

    /// The format of that name.
    pub fn format(&self, name: &str) -> Option<&FormatInfo> {
        self.formats.get(name)
    }

    /// All formats, by name.
    pub fn formats(&self) -> impl Iterator<Item = &FormatInfo> {
        self.formats.values()
    }

    /// A new operator.
    pub fn make_operator(&self, kind: &str, spec: &Value) -> Result<Box<dyn Operator>> {
        self.make(&self.operators, "operator", kind, spec)
    }

    /// A new watermark generator.
    pub fn make_watermark_generator(&self, kind: &str, spec: &Value) -> Result<Box<dyn WatermarkGenerator>> {
        self.make(&self.generators, "watermark generator", kind, spec)
    }

    /// A new key selector.
    pub fn make_key_selector(&self, kind: &str, spec: &Value) -> Result<Box<dyn KeySelector>> {
        self.make(&self.keys, "key selector", kind, spec)
    }

    fn make<T: ?Sized>(&self, makers: &BTreeMap<String, Make<T>>, what: &str, kind: &str, spec: &Value) -> Result<Box<T>> {
        let maker = makers.get(kind).ok_or_else(|| Error::bug(format!("no {what} '{kind}' in this binary")))?;
        maker(self, spec).map_err(|e| e.context(format!("{what} '{kind}'")))
    }
}
