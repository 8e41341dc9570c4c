//! A set of values for each group, each value with counts: what DISTINCT and COLLECT are made of.
//!
//! All groups share one [`KeyIndex`] over (group, values), so that a batch is looked up at once. The values of a group form
//! a list in order of arrival, so that a group can be read, merged and cleared.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute;
use arrow::datatypes::{DataType, Int64Type};

use rheos_core::error::Result;
use rheos_state::{KeyIndex, NO_SLOT, Slot};

use super::accumulator::Rows;
use super::ordered::{list, list_type};

/// An entry is a value of a group; its number is a slot of the index.
type Entry = Slot;

pub(super) struct Multiset {
    index: KeyIndex,
    types: Vec<DataType>,
    /// How many counts an entry has: one for each filter.
    lanes: usize,
    /// The counts of entry `e` are at `e * lanes ..`. They may be negative for a while, where a value is taken back first.
    counts: Vec<i64>,
    next: Vec<Entry>,
    previous: Vec<Entry>,
    /// By group.
    first: Vec<Entry>,
    last: Vec<Entry>,
    /// Entries that may have come to nothing in this batch.
    emptied: Vec<Entry>,
}

/// Rows at which a value appeared in its group or disappeared from it.
#[derive(Debug, Default)]
pub(super) struct Changes {
    slots: Vec<Slot>,
    rows: Vec<u32>,
    signs: Vec<i8>,
}

impl Changes {
    fn note(&mut self, before: i64, after: i64, slot: Slot, row: u32) {
        if (before > 0) != (after > 0) {
            self.slots.push(slot);
            self.rows.push(row);
            self.signs.push(if after > 0 { 1 } else { -1 });
        }
    }

    pub(super) fn as_rows(&self) -> Rows<'_> {
        Rows { slots: &self.slots, rows: Some(&self.rows), signs: Some(&self.signs) }
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.rows.clear();
        self.signs.clear();
    }
}

impl Multiset {
    /// Sets of values of these types, a value being a row of all of them.
    pub(super) fn new(types: &[DataType], lanes: usize) -> Result<Self> {
        let key_types: Vec<DataType> = std::iter::once(DataType::UInt32).chain(types.iter().cloned()).collect();
        Ok(Multiset {
            index: KeyIndex::new(&key_types)?,
            types: types.to_vec(),
            lanes,
            counts: Vec::new(),
            next: Vec::new(),
            previous: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            emptied: Vec::new(),
        })
    }

    pub(super) fn grow(&mut self, bound: usize) {
        self.first.resize(bound, NO_SLOT);
        self.last.resize(bound, NO_SLOT);
    }

    /// Counts rows in one lane, and writes where a value appeared or disappeared in it.
    pub(super) fn update(&mut self, lane: usize, rows: &Rows<'_>, args: &[&ArrayRef], changes: &mut Changes) -> Result<()> {
        changes.clear();
        let taken: Vec<ArrayRef>;
        let mut values: Vec<&ArrayRef> = args.to_vec();
        if let Some(rows) = rows.rows {
            let rows = UInt32Array::from(rows.to_vec());
            taken = args.iter().map(|a| Ok(compute::take(a, &rows, None)?)).collect::<Result<_>>()?;
            values = taken.iter().collect();
        }
        let entries = self.entries(rows.slots, &values)?;
        for (i, (entry, slot)) in entries.iter().zip(rows.slots).enumerate() {
            let row = rows.rows.map_or(i as u32, |rows| rows[i]);
            let count = &mut self.counts[*entry as usize * self.lanes + lane];
            let before = *count;
            *count += rows.signs.map_or(1, |signs| i64::from(signs[i]));
            if *count == 0 {
                self.emptied.push(*entry);
            }
            changes.note(before, *count, *slot, row);
        }
        Ok(())
    }

    /// The entries of values in groups; those that were not there are added to their group's list.
    fn entries(&mut self, slots: &[Slot], values: &[&ArrayRef]) -> Result<Vec<Entry>> {
        let groups: ArrayRef = Arc::new(UInt32Array::from(slots.to_vec()));
        let keys: Vec<&ArrayRef> = std::iter::once(&groups).chain(values.iter().copied()).collect();
        let (mut entries, mut new_rows) = (Vec::new(), Vec::new());
        self.index.resolve(&keys, slots.len(), &mut entries, &mut new_rows)?;
        let bound = self.index.slot_bound();
        self.counts.resize(bound * self.lanes, 0);
        self.next.resize(bound, NO_SLOT);
        self.previous.resize(bound, NO_SLOT);
        for row in new_rows {
            self.append(slots[row as usize] as usize, entries[row as usize]);
        }
        Ok(entries)
    }

    fn append(&mut self, group: usize, entry: Entry) {
        let last = self.last[group];
        self.previous[entry as usize] = last;
        self.next[entry as usize] = NO_SLOT;
        match last {
            NO_SLOT => self.first[group] = entry,
            last => self.next[last as usize] = entry,
        }
        self.last[group] = entry;
    }

    /// Forgets the values whose counts have all come to nothing. To be called after the lanes were updated.
    pub(super) fn sweep(&mut self) -> Result<()> {
        let mut emptied = std::mem::take(&mut self.emptied);
        emptied.sort_unstable();
        emptied.dedup();
        emptied.retain(|e| self.counts_of(*e).iter().all(|c| *c == 0));
        if emptied.is_empty() {
            return Ok(());
        }
        let groups = self.index.keys(&emptied)?;
        for (entry, group) in emptied.iter().zip(groups[0].as_primitive::<arrow::datatypes::UInt32Type>().values()) {
            let (previous, next) = (self.previous[*entry as usize], self.next[*entry as usize]);
            match previous {
                NO_SLOT => self.first[*group as usize] = next,
                previous => self.next[previous as usize] = next,
            }
            match next {
                NO_SLOT => self.last[*group as usize] = previous,
                next => self.previous[next as usize] = previous,
            }
        }
        self.index.remove(&emptied);
        Ok(())
    }

    fn counts_of(&self, entry: Entry) -> &[i64] {
        &self.counts[entry as usize * self.lanes..(entry as usize + 1) * self.lanes]
    }

    fn entries_of(&self, group: Slot) -> impl Iterator<Item = Entry> {
        let start = Some(self.first[group as usize]).filter(|e| *e != NO_SLOT);
        std::iter::successors(start, |e| Some(self.next[*e as usize]).filter(|e| *e != NO_SLOT))
    }

    /// The values of these groups, one group after the other, with where each begins; and the entries that they are.
    fn values(&self, slots: &[Slot]) -> Result<(OffsetBuffer<i32>, Vec<ArrayRef>, Vec<Entry>)> {
        let mut entries = Vec::new();
        let lengths: Vec<usize> = slots
            .iter()
            .map(|slot| {
                let before = entries.len();
                entries.extend(self.entries_of(*slot));
                entries.len() - before
            })
            .collect();
        let mut keys = self.index.keys(&entries)?;
        keys.remove(0);
        Ok((OffsetBuffer::from_lengths(lengths), keys, entries))
    }

    /// The values and counts of these groups in one lane, without those that do not count.
    pub(super) fn counted(&self, lane: usize, slots: &[Slot]) -> Result<(OffsetBuffer<i32>, Vec<ArrayRef>, Vec<i64>)> {
        let (offsets, values, entries) = self.values(slots)?;
        let counts: Vec<i64> = entries.iter().map(|e| self.counts_of(*e)[lane]).collect();
        if counts.iter().all(|c| *c > 0) {
            return Ok((offsets, values, counts));
        }
        let kept: UInt32Array = counts.iter().enumerate().filter(|(_, c)| **c > 0).map(|(i, _)| i as u32).collect::<Vec<_>>().into();
        let lengths = offsets.windows(2).map(|w| counts[w[0] as usize..w[1] as usize].iter().filter(|c| **c > 0).count());
        let values = values.iter().map(|v| Ok(compute::take(v, &kept, None)?)).collect::<Result<_>>()?;
        Ok((OffsetBuffer::from_lengths(lengths), values, counts.into_iter().filter(|c| *c > 0).collect()))
    }

    /// Adds groups to others. For each lane, `appeared` is given where values appeared, as rows of the columns with it.
    pub(super) fn merge(
        &mut self,
        from: &[Slot],
        into: &[Slot],
        mut appeared: impl FnMut(usize, &Rows<'_>, &[&ArrayRef]) -> Result<()>,
    ) -> Result<()> {
        let (offsets, values, sources) = self.values(from)?;
        let targets: Vec<Slot> = offsets.lengths().zip(into).flat_map(|(length, slot)| std::iter::repeat_n(*slot, length)).collect();
        let values: Vec<&ArrayRef> = values.iter().collect();
        let entries = self.entries(&targets, &values)?;
        let mut changes = Changes::default();
        for lane in 0..self.lanes {
            changes.clear();
            for (row, ((source, entry), slot)) in sources.iter().zip(&entries).zip(&targets).enumerate() {
                let added = self.counts[*source as usize * self.lanes + lane];
                let count = &mut self.counts[*entry as usize * self.lanes + lane];
                let before = *count;
                *count += added;
                if *count == 0 {
                    self.emptied.push(*entry);
                }
                changes.note(before, *count, *slot, row as u32);
            }
            appeared(lane, &changes.as_rows(), &values)?;
        }
        self.sweep()
    }

    pub(super) fn clear(&mut self, slots: &[Slot]) {
        let entries: Vec<Entry> = slots.iter().flat_map(|slot| self.entries_of(*slot)).collect();
        for entry in &entries {
            self.counts[*entry as usize * self.lanes..(*entry as usize + 1) * self.lanes].fill(0);
        }
        for slot in slots {
            self.first[*slot as usize] = NO_SLOT;
            self.last[*slot as usize] = NO_SLOT;
        }
        self.index.remove(&entries);
    }

    /// Values and then the counts of each lane, as columns of lists.
    pub(super) fn state_types(&self) -> Vec<DataType> {
        self.types.iter().map(list_type).chain((0..self.lanes).map(|_| list_type(&DataType::Int64))).collect()
    }

    pub(super) fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let (offsets, values, entries) = self.values(slots)?;
        let mut columns = values.into_iter().map(|v| list(offsets.clone(), v)).collect::<Result<Vec<_>>>()?;
        for lane in 0..self.lanes {
            let counts = Int64Array::from_iter_values(entries.iter().map(|e| self.counts_of(*e)[lane]));
            columns.push(list(offsets.clone(), Arc::new(counts))?);
        }
        Ok(columns)
    }

    pub(super) fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let lists: Vec<&ListArray> = columns.iter().map(|c| c.as_list::<i32>()).collect();
        let groups: Vec<Slot> = (0..slots.len()).flat_map(|i| std::iter::repeat_n(slots[i], lists[0].value_length(i) as usize)).collect();
        let flat: Vec<ArrayRef> = lists.iter().map(|l| content(l)).collect();
        let (values, counts) = flat.split_at(self.types.len());
        let entries = self.entries(&groups, &values.iter().collect::<Vec<_>>())?;
        for (lane, counts) in counts.iter().enumerate() {
            for (entry, count) in entries.iter().zip(counts.as_primitive::<Int64Type>().values()) {
                self.counts[*entry as usize * self.lanes + lane] = *count;
            }
        }
        Ok(())
    }
}

/// The items of all lists, one after the other.
fn content(lists: &ListArray) -> ArrayRef {
    let offsets = lists.value_offsets();
    let (start, end) = (offsets[0] as usize, offsets[lists.len()] as usize);
    lists.values().slice(start, end - start)
}
