//! What functions SQL has, for lists and completion.

/// A function as users see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its name, upper case. Aliases have entries of their own.
    pub name: &'static str,
    /// How it is written.
    pub usage: String,
    /// Whether it takes many rows to one value.
    pub is_aggregate: bool,
}

/// All functions, by name.
pub fn functions() -> Vec<FunctionInfo> {
    let scalar = rheos_expr::functions::names().filter_map(|name| {
        let function = rheos_expr::functions::find(name)?;
        Some(FunctionInfo { name, usage: function.usage.to_string(), is_aggregate: false })
    });
    let aggregates =
        rheos_operators::spec::aggregate::names().map(|name| FunctionInfo { name, usage: format!("{name}(...)"), is_aggregate: true });
    let mut all: Vec<FunctionInfo> = scalar.chain(aggregates).collect();
    all.sort_by(|a, b| (a.name, a.is_aggregate).cmp(&(b.name, b.is_aggregate)));
    all
}
