//! The library: a file for each family of functions, each with a table of what it has.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::expr::Expr;
use crate::function::Function;

pub(crate) mod kernel;
pub(crate) mod signature;

mod arithmetic;
pub(crate) mod cast;
mod collection;
mod comparison;
mod conditional;
mod hash;
mod json;
mod logic;
mod math;
mod operators;
mod regex;
mod string;
#[cfg(test)]
pub(crate) mod testing;
mod time;
mod url;

/// The families' tables.
static FAMILIES: [&[Function]; 13] = [
    operators::FUNCTIONS,
    arithmetic::FUNCTIONS,
    comparison::FUNCTIONS,
    logic::FUNCTIONS,
    conditional::FUNCTIONS,
    string::FUNCTIONS,
    regex::FUNCTIONS,
    time::FUNCTIONS,
    json::FUNCTIONS,
    hash::FUNCTIONS,
    url::FUNCTIONS,
    math::FUNCTIONS,
    collection::FUNCTIONS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let functions = FAMILIES.iter().flat_map(|family| family.iter());
    functions.flat_map(|f| std::iter::once(f.name).chain(f.aliases.iter().copied()).map(move |name| (name, f))).collect()
});

/// The function or operator of a name or alias, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    match BY_NAME.get(name) {
        Some(function) => Some(function),
        None => BY_NAME.get(name.to_ascii_uppercase().as_str()).copied(),
    }
}

/// Whether this call cannot fail and costs next to nothing though its function may: a division by a constant.
pub(crate) fn is_cheap_call(function: &Function, args: &[Expr]) -> bool {
    arithmetic::is_cheap_division(function.name, args)
}

/// All names and aliases that are words, for suggestions; operators are left out.
pub fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied().filter(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_stands_for_one_function() {
        let all: usize = FAMILIES.iter().flat_map(|family| family.iter()).map(|f| 1 + f.aliases.len()).sum();
        assert_eq!(BY_NAME.len(), all, "a name occurs twice");
        assert!(BY_NAME.keys().all(|name| *name == name.to_ascii_uppercase()));
    }
}
