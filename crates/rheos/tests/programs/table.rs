//! The table that changes amount to.

use std::collections::BTreeMap;

use super::taken::Line;

/// How often each row is there; a row that was removed more often than added is there a negative number of times.
pub(crate) type Table = BTreeMap<Vec<String>, i64>;

/// The table after these changes. With a key, the last change of each key counts.
pub(crate) fn fold<'a>(lines: impl IntoIterator<Item = &'a Line>, key: &[usize]) -> Table {
    let mut table = Table::new();
    if key.is_empty() {
        for (kind, row) in lines {
            *table.entry(row.clone()).or_default() += kind.sign();
        }
        table.retain(|_, count| *count != 0);
        return table;
    }
    let mut rows: BTreeMap<Vec<&str>, &Vec<String>> = BTreeMap::new();
    for (kind, row) in lines {
        let key = key.iter().filter_map(|k| row.get(*k)).map(String::as_str).collect();
        match kind.is_addition() {
            true => drop(rows.insert(key, row)),
            false => drop(rows.remove(&key)),
        }
    }
    rows.into_values().map(|row| (row.clone(), 1)).collect()
}

/// `None` where they are the same, else the rows that are missing and those that are too many.
pub(crate) fn difference(got: &Table, expected: &Table) -> Option<String> {
    let count = |table: &Table, row: &Vec<String>| table.get(row).copied().unwrap_or(0);
    let rows = got.keys().chain(expected.keys().filter(|row| !got.contains_key(*row)));
    let mut found: Vec<String> = rows
        .filter_map(|row| {
            let (has, wants) = (count(got, row), count(expected, row));
            let sign = if has < wants { '-' } else { '+' };
            (has != wants).then(|| format!("{sign}{} [{}]", (has - wants).abs(), row.join(", ")))
        })
        .collect();
    found.sort_unstable();
    if found.is_empty() { None } else { Some(found.join("\n      ")) }
}

#[cfg(test)]
mod tests {
    use rheos::RowKind;

    use super::*;

    fn line(kind: RowKind, values: &[&str]) -> Line {
        (kind, values.iter().map(|v| v.to_string()).collect())
    }

    #[test]
    fn with_a_key_the_last_change_of_each_key_counts() {
        let changes = [
            line(RowKind::Insert, &["1", "a"]),
            line(RowKind::Insert, &["2", "b"]),
            line(RowKind::UpdateAfter, &["1", "c"]),
            line(RowKind::Delete, &["2", "null"]),
        ];
        assert_eq!(fold(&changes, &[0]), Table::from([(vec!["1".into(), "c".into()], 1)]));
    }

    #[test]
    fn rows_that_are_missing_too_many_or_removed_in_vain_are_found() {
        let once = fold(&[line(RowKind::Insert, &["1"])], &[]);
        let twice = fold(&[line(RowKind::Insert, &["1"]), line(RowKind::Insert, &["1"])], &[]);
        let removed = fold(&[line(RowKind::Delete, &["2"])], &[]);
        assert_eq!(difference(&twice, &twice), None);
        assert_eq!(difference(&twice, &once).unwrap(), "+1 [1]");
        assert_eq!(difference(&removed, &once).unwrap(), "-1 [1]\n      -1 [2]");
    }
}
