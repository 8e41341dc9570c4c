//! The rows of one partition in order.

use std::collections::BTreeMap;

/// Above this many rows a tree is faster than a list that is shifted.
const LIST_ROWS: usize = 256;

/// Row slots in the order of their keys, equal keys in the order of arrival.
#[derive(Debug)]
pub(super) enum Ordered<K> {
    Few(Vec<(K, u64, u32)>),
    Many(BTreeMap<(K, u64), u32>),
}

impl<K> Default for Ordered<K> {
    fn default() -> Self {
        Ordered::Few(Vec::new())
    }
}

impl<K: Ord + Clone> Ordered<K> {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Ordered::Few(list) => list.len(),
            Ordered::Many(tree) => tree.len(),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row; `arrival` is above that of every row in it.
    pub(super) fn insert(&mut self, key: K, arrival: u64, row: u32) {
        match self {
            Ordered::Few(list) if list.len() < LIST_ROWS => {
                let at = list.partition_point(|(k, ..)| *k <= key);
                list.insert(at, (key, arrival, row));
            }
            Ordered::Few(list) => {
                let mut tree: BTreeMap<(K, u64), u32> = std::mem::take(list).into_iter().map(|(k, a, r)| ((k, a), r)).collect();
                tree.insert((key, arrival), row);
                *self = Ordered::Many(tree);
            }
            Ordered::Many(tree) => {
                tree.insert((key, arrival), row);
            }
        }
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, key: &K, arrival: u64) {
        match self {
            Ordered::Few(list) => {
                if let Ok(at) = list.binary_search_by(|(k, a, _)| k.cmp(key).then(a.cmp(&arrival))) {
                    list.remove(at);
                }
            }
            Ordered::Many(tree) => {
                tree.remove(&(key.clone(), arrival));
            }
        }
    }

    /// The key of the last row.
    #[inline]
    pub(super) fn last_key(&self) -> Option<&K> {
        match self {
            Ordered::Few(list) => list.last().map(|(k, ..)| k),
            Ordered::Many(tree) => tree.last_key_value().map(|((k, _), _)| k),
        }
    }

    /// Takes out the last row.
    pub(super) fn pop_last(&mut self) -> Option<u32> {
        match self {
            Ordered::Few(list) => list.pop().map(|(.., row)| row),
            Ordered::Many(tree) => tree.pop_last().map(|(_, row)| row),
        }
    }

    /// Adds rows `start ..= end`, counted from 1, to `rows`.
    pub(super) fn range(&self, start: u64, end: u64, rows: &mut Vec<u32>) {
        let skip = start.saturating_sub(1);
        let (skip, take) = (skip as usize, end.saturating_sub(skip) as usize);
        match self {
            Ordered::Few(list) => rows.extend(list.iter().skip(skip).take(take).map(|(.., row)| *row)),
            Ordered::Many(tree) => rows.extend(tree.values().skip(skip).take(take)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ordered: &Ordered<u32>, start: u64, end: u64) -> Vec<u32> {
        let mut rows = Vec::new();
        ordered.range(start, end, &mut rows);
        rows
    }

    #[test]
    fn equal_keys_stay_in_order_of_arrival_in_a_list_and_in_a_tree() {
        for count in [10u32, 3 * LIST_ROWS as u32] {
            let mut ordered = Ordered::default();
            (0..count).for_each(|i| ordered.insert(i % 2, u64::from(i), i));
            assert_eq!(rows(&ordered, 1, 3), [0, 2, 4]);
            ordered.remove(&0, 2);
            assert_eq!(rows(&ordered, 2, 3), [4, 6]);
            assert_eq!(ordered.pop_last(), Some(count - 1));
            assert_eq!(ordered.len(), count as usize - 2);
        }
    }
}
