//! Finds fields by name, fast where names come in the order of their declaration.

use std::collections::HashMap;

/// Up to this many names are compared one by one, which is faster than hashing.
const LINEAR_MAX: usize = 12;

/// The names of the fields of a record. Where one repeats, the first counts.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: Vec<Box<str>>,
    by_name: HashMap<Box<str>, usize>,
    next: usize,
}

impl Names {
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<Box<str>> = names.into_iter().map(Box::from).collect();
        let mut by_name = HashMap::new();
        if names.len() > LINEAR_MAX {
            for (i, name) in names.iter().enumerate() {
                by_name.entry(name.clone()).or_insert(i);
            }
        }
        Names { names, by_name, next: 0 }
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// The position of a name. The one after the last that was found is tried first.
    pub(crate) fn find(&mut self, name: &str) -> Option<usize> {
        let next = if self.next < self.names.len() { self.next } else { 0 };
        let found = if self.names.get(next).is_some_and(|n| **n == *name) {
            next
        } else if self.by_name.is_empty() {
            self.names.iter().position(|n| **n == *name)?
        } else {
            *self.by_name.get(name)?
        };
        self.next = found + 1;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order_and_strangers_are_not() {
        let few = ["a", "b", "c"].map(String::from).to_vec();
        let many: Vec<String> = (0..50).map(|i| format!("f{i}")).collect();
        for names in [few, many] {
            let mut index = Names::new(names.iter().map(String::as_str));
            for (i, name) in names.iter().enumerate().rev().chain(names.iter().enumerate()) {
                assert_eq!(index.find(name), Some(i));
                assert_eq!(index.find("stranger"), None);
            }
        }
    }
}
