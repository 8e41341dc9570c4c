//! Keys with typed columns of values, as one piece of keyed state.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use rheos_core::error::Result;
use rheos_core::key_group::KeyGroup;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};

use crate::changed_slots::ChangedSlots;
use crate::key_index::KeyIndex;
use crate::slots::Slot;
use crate::snapshot::{self, Slotted};

/// Values in columns indexed by slot. A slot that was never written, or was cleared, has the value of a new key.
pub trait SlotColumns {
    /// The types of the columns that [`SlotColumns::save`] gives.
    fn types(&self) -> Vec<DataType>;
    /// Makes room for slots below `bound`.
    fn grow(&mut self, bound: usize);
    /// The values of these slots, a row for each.
    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>>;
    /// Puts back what `save` gave, at these slots, which are new.
    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()>;
    /// Makes these slots as new.
    fn clear(&mut self, slots: &[Slot]);
}

/// Keys and their values. The first columns of a key may be a namespace (a window): rows that differ only in it belong to
/// one key, and so to one key group.
#[derive(Debug)]
pub struct KeyedTable<V> {
    index: KeyIndex,
    namespace_columns: usize,
    changed: ChangedSlots,
    /// The values. Only those of slots that were resolved or touched since the last snapshot may be changed.
    pub values: V,
}

impl<V: SlotColumns> KeyedTable<V> {
    /// An empty table; the first `namespace_columns` of `key_types` are the namespace.
    pub fn new(key_types: &[DataType], namespace_columns: usize, values: V) -> Result<Self> {
        Ok(KeyedTable { index: KeyIndex::new(key_types)?, namespace_columns, changed: ChangedSlots::default(), values })
    }

    /// The keys.
    pub fn index(&self) -> &KeyIndex {
        &self.index
    }

    /// As [`KeyIndex::resolve`]; the values have room for every slot afterwards, and may be changed at the slots.
    pub fn resolve(&mut self, keys: &[&ArrayRef], rows: usize, slots: &mut Vec<Slot>, new_rows: &mut Vec<u32>) -> Result<()> {
        self.index.resolve(keys, rows, slots, new_rows)?;
        if !new_rows.is_empty() {
            self.values.grow(self.index.slot_bound());
        }
        self.changed.add(slots);
        Ok(())
    }

    /// The values of these slots are about to change.
    pub fn touch(&mut self, slots: &[Slot]) {
        self.changed.add(slots);
    }

    /// Forgets keys and their values.
    pub fn remove(&mut self, slots: &[Slot]) {
        self.values.clear(slots);
        self.index.remove(slots);
        self.changed.add(slots);
    }

    /// Puts everything, or what changed, under `name`, for a job that has `group_count` key groups.
    pub fn snapshot(&mut self, name: &str, mode: SnapshotMode, group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let KeyedTable { index, namespace_columns, changed, values } = self;
        let mut state = Content { index, namespace_columns: *namespace_columns, values };
        into.put_keyed(name, snapshot::segment(&mut state, changed, mode, group_count)?);
        Ok(())
    }

    /// Puts back what [`KeyedTable::snapshot`] gave, into an empty table. Returns the slots that were filled.
    pub fn restore(&mut self, name: &str, from: &OperatorSnapshot) -> Result<Vec<Slot>> {
        let key_count = self.index.types().len();
        let types: Vec<DataType> = self.index.types().iter().cloned().chain(self.values.types()).collect();
        let mut all = Vec::with_capacity(self.index.len());
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        for batch in from.rows(name, &types)? {
            let keys: Vec<&ArrayRef> = batch.columns()[..key_count].iter().collect();
            self.resolve(&keys, batch.num_rows(), &mut slots, &mut new_rows)?;
            self.values.load(&slots, &batch.columns()[key_count..])?;
            all.extend_from_slice(&slots);
        }
        Ok(all)
    }
}

/// What a snapshot sees of a table.
struct Content<'a, V> {
    index: &'a KeyIndex,
    namespace_columns: usize,
    values: &'a V,
}

impl<V: SlotColumns> Slotted for Content<'_, V> {
    fn live(&self) -> Vec<Slot> {
        self.index.slots()
    }

    fn is_live(&self, slot: Slot) -> bool {
        self.index.is_used(slot)
    }

    fn key_groups(&self, columns: &[ArrayRef], rows: usize, group_count: u32) -> Result<Vec<KeyGroup>> {
        snapshot::key_groups(&columns[self.namespace_columns..self.index.types().len()], rows, group_count)
    }

    fn columns(&mut self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = self.index.keys(slots)?;
        columns.extend(self.values.save(slots)?);
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, Int64Array, StringArray};
    use arrow::datatypes::Int64Type;
    use rheos_core::routing::RoutingTable;

    use super::*;

    /// One number a key.
    #[derive(Debug, Default)]
    struct Numbers(Vec<i64>);

    impl SlotColumns for Numbers {
        fn types(&self) -> Vec<DataType> {
            vec![DataType::Int64]
        }

        fn grow(&mut self, bound: usize) {
            self.0.resize(bound, 0);
        }

        fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
            Ok(vec![Arc::new(Int64Array::from_iter_values(slots.iter().map(|s| self.0[*s as usize])))])
        }

        fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
            slots.iter().zip(columns[0].as_primitive::<Int64Type>().values()).for_each(|(s, v)| self.0[*s as usize] = *v);
            Ok(())
        }

        fn clear(&mut self, slots: &[Slot]) {
            slots.iter().for_each(|s| self.0[*s as usize] = 0);
        }
    }

    fn table() -> KeyedTable<Numbers> {
        KeyedTable::new(&[DataType::Int64, DataType::Utf8], 1, Numbers::default()).unwrap()
    }

    fn content(table: &KeyedTable<Numbers>) -> Vec<(i64, Option<String>, i64)> {
        let slots = table.index().slots();
        let keys = table.index().keys(&slots).unwrap();
        let (windows, names) = (keys[0].as_primitive::<Int64Type>(), keys[1].as_string::<i32>());
        let mut rows: Vec<_> = slots
            .iter()
            .enumerate()
            .map(|(i, s)| (windows.value(i), names.is_valid(i).then(|| names.value(i).to_string()), table.values.0[*s as usize]))
            .collect();
        rows.sort();
        rows
    }

    #[test]
    fn a_base_and_deltas_are_restored_at_another_parallelism() {
        let mut whole = table();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        let mut taken = OperatorSnapshot::new();
        for round in 0..4 {
            let windows: ArrayRef = Arc::new(Int64Array::from_iter_values((0..600).map(|i| i % 3)));
            let name = |i: i64| (i % 50 != 7).then(|| format!("name {}", i / 3 + round * 100));
            let names: ArrayRef = Arc::new(StringArray::from_iter((0..600).map(name)));
            whole.resolve(&[&windows, &names], 600, &mut slots, &mut new_rows).unwrap();
            slots.iter().enumerate().for_each(|(i, s)| whole.values.0[*s as usize] += i as i64);
            let removed: Vec<Slot> = whole.index().slots().into_iter().filter(|s| i64::from(*s) % 5 == round).collect();
            whole.remove(&removed);
            let mut snapshot = OperatorSnapshot::new();
            whole.snapshot("table", SnapshotMode::Changes, 128, &mut snapshot).unwrap();
            taken.follow(snapshot);
        }
        let routing = RoutingTable::contiguous(128, 3);
        let mut parts: Vec<_> = (0..3)
            .flat_map(|i| {
                let mine = OperatorSnapshot::redistribute(std::slice::from_ref(&taken), i, 3, routing.groups_of(i));
                let mut part = table();
                part.restore("table", &mine).unwrap();
                let rows = content(&part);
                assert!(!rows.is_empty());
                rows
            })
            .collect();
        parts.sort();
        assert_eq!(parts, content(&whole));
    }
}
