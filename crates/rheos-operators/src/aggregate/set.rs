//! All aggregate calls of an operator.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};
use rheos_state::{Slot, SlotColumns};

use super::accumulator::{Accumulator, Finish, Rows};
use super::distinct::Distinct;
use super::function::{Function, StateKind};
use crate::spec::AggregateCall;

/// The accumulators of several calls.
#[derive(Default)]
pub(crate) struct AggregateSet {
    calls: Vec<(Place, Finish)>,
    plain: Vec<Plain>,
    distinct: Vec<Distinct>,
    /// The rows that pass a filter, by filter column: made anew for each batch.
    filtered: Vec<(usize, Filtered)>,
}

/// Where the state of a call is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Plain(usize),
    /// A set of values, and the state behind it.
    Distinct(usize, usize),
}

/// A state without DISTINCT.
struct Plain {
    args: Vec<usize>,
    filter: Option<usize>,
    state: Box<dyn Accumulator>,
}

#[derive(Debug, Default)]
struct Filtered {
    slots: Vec<Slot>,
    rows: Vec<u32>,
    signs: Vec<i8>,
    signed: bool,
}

impl Filtered {
    fn fill(&mut self, rows: &Rows<'_>, filter: &ArrayRef) -> Result<()> {
        let filter = filter.as_boolean_opt().ok_or_else(|| Error::bug(format!("a filter of {}", filter.data_type())))?;
        self.slots.clear();
        self.rows.clear();
        self.signs.clear();
        self.signed = rows.signs.is_some();
        if rows.rows.is_none() && rows.signs.is_none() && filter.null_count() == 0 {
            for row in filter.values().set_indices() {
                self.slots.push(rows.slots[row]);
                self.rows.push(row as u32);
            }
        } else {
            rows.for_each(filter.nulls(), |slot, row, sign| {
                if filter.value(row) {
                    self.slots.push(slot as Slot);
                    self.rows.push(row as u32);
                    self.signs.push(sign as i8);
                }
            });
        }
        Ok(())
    }

    fn as_rows(&self) -> Rows<'_> {
        Rows { slots: &self.slots, rows: Some(&self.rows), signs: self.signed.then_some(&self.signs) }
    }
}

/// What makes two calls share a state.
#[derive(Debug, PartialEq)]
struct StateKey {
    kind: StateKind,
    args: Vec<usize>,
    filter: Option<usize>,
}

impl AggregateSet {
    /// The accumulators of `calls`, over an input that takes rows back or not.
    pub(crate) fn new(calls: &[AggregateCall], retracts: bool) -> Result<Self> {
        let mut set = AggregateSet::default();
        let mut plain_keys: Vec<StateKey> = Vec::new();
        let mut distinct: Vec<(Vec<usize>, Vec<DataType>, Vec<StateKey>)> = Vec::new();
        for call in calls {
            let function = Function::of(&call.function)?;
            let mut args = call.args.clone();
            let kind = StateKind::of(function, retracts);
            if function == Function::Count && !call.distinct && call.arg_types.iter().all(|t| !t.nullable) {
                args.clear();
            }
            let types: Vec<DataType> = call.arg_types[..args.len()].iter().map(|t| t.to_arrow()).collect();
            let key = StateKey { kind, args: args.clone(), filter: call.filter };
            let place = if call.distinct && !function.ignores_duplicates() {
                let over = distinct.iter().position(|(a, ..)| *a == args).unwrap_or_else(|| {
                    distinct.push((args, types, Vec::new()));
                    distinct.len() - 1
                });
                Place::Distinct(over, position_or_push(&mut distinct[over].2, key))
            } else {
                let known = plain_keys.len();
                let state = position_or_push(&mut plain_keys, key);
                if state == known {
                    set.plain.push(Plain { args, filter: call.filter, state: kind.accumulator(&types)? });
                }
                Place::Plain(state)
            };
            set.calls.push((place, Finish { function, ty: call.ty.clone() }));
        }
        for (args, types, keys) in distinct {
            let mut filters = Vec::new();
            let states = keys
                .into_iter()
                .map(|key| Ok((position_or_push(&mut filters, key.filter), key.kind.accumulator(&types)?)))
                .collect::<Result<_>>()?;
            set.distinct.push(Distinct::new(args, &types, filters, states)?);
        }
        let mut filters: Vec<usize> = calls.iter().filter_map(|c| c.filter).collect();
        filters.sort_unstable();
        filters.dedup();
        set.filtered = filters.into_iter().map(|column| (column, Filtered::default())).collect();
        Ok(set)
    }

    /// Takes in rows of a batch; `columns` are all of the batch's.
    pub(crate) fn update(&mut self, rows: &Rows<'_>, columns: &[ArrayRef]) -> Result<()> {
        for (column, filtered) in &mut self.filtered {
            filtered.fill(rows, &columns[*column])?;
        }
        let of = |filter: Option<usize>| match filter {
            None => *rows,
            Some(column) => self.filtered.iter().find(|(c, _)| *c == column).map_or(*rows, |(_, f)| f.as_rows()),
        };
        let mut args = Vec::new();
        for plain in &mut self.plain {
            args.clear();
            args.extend(plain.args.iter().map(|a| &columns[*a]));
            plain.state.update(&of(plain.filter), &args)?;
        }
        for distinct in &mut self.distinct {
            args.clear();
            args.extend(distinct.args.iter().map(|a| &columns[*a]));
            for lane in 0..distinct.filters.len() {
                distinct.update(lane, &of(distinct.filters[lane]), &args)?;
            }
            distinct.sweep()?;
        }
        Ok(())
    }

    /// Adds each group `from[i]`, which stays, to the group `into[i]`.
    pub(crate) fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        self.plain.iter_mut().try_for_each(|p| p.state.merge(from, into))?;
        self.distinct.iter_mut().try_for_each(|d| d.merge(from, into))
    }

    /// The results of all calls, in order.
    pub(crate) fn evaluate(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let state = |place: &Place| match place {
            Place::Plain(index) => self.plain[*index].state.as_ref(),
            Place::Distinct(over, index) => self.distinct[*over].state(*index),
        };
        self.calls.iter().map(|(place, finish)| state(place).evaluate(finish, slots)).collect()
    }
}

fn position_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|i| *i == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

impl SlotColumns for AggregateSet {
    fn types(&self) -> Vec<DataType> {
        let plain = self.plain.iter().flat_map(|p| p.state.state_types());
        plain.chain(self.distinct.iter().flat_map(Distinct::state_types)).collect()
    }

    fn grow(&mut self, bound: usize) {
        self.plain.iter_mut().for_each(|p| p.state.grow(bound));
        self.distinct.iter_mut().for_each(|d| d.grow(bound));
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = Vec::new();
        for plain in &self.plain {
            columns.extend(plain.state.save(slots)?);
        }
        for distinct in &self.distinct {
            columns.extend(distinct.save(slots)?);
        }
        Ok(columns)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let mut rest = columns;
        for plain in &mut self.plain {
            let (mine, others) = rest.split_at(plain.state.state_types().len());
            plain.state.load(slots, mine)?;
            rest = others;
        }
        for distinct in &mut self.distinct {
            let (mine, others) = rest.split_at(distinct.state_types().len());
            distinct.load(slots, mine)?;
            rest = others;
        }
        Ok(())
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.plain.iter_mut().for_each(|p| p.state.clear(slots));
        self.distinct.iter_mut().for_each(|d| d.clear(slots));
    }
}
