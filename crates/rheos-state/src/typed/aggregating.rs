//! One accumulator for each key, with inputs and a result of other types.

use rheos_core::Result;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;

use super::descriptor::{Expiring, StateDescriptor};
use super::header::{Kind, Shape};
use super::scope::{StateKey, StateValue};
use super::ttl::TimeDomain;
use super::value::ValueState;

/// An aggregate: what is accumulated, of which inputs, with which result.
pub trait Aggregate {
    /// What goes in.
    type Input;
    /// What is kept.
    type Accumulator: StateValue;
    /// What comes out.
    type Output;

    /// The accumulator of no input.
    fn create(&self) -> Self::Accumulator;
    /// Takes an input in.
    fn add(&self, accumulator: &mut Self::Accumulator, input: Self::Input);
    /// What it comes to so far.
    fn result(&self, accumulator: &Self::Accumulator) -> Self::Output;
    /// Takes in the inputs of another accumulator.
    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator);
}

/// For each key the accumulator of `A`.
///
/// ```
/// # use rheos_core::{operator::SubtaskInfo, routing::KeyGroups};
/// # use rheos_state::typed::{Aggregate, AggregatingState, StateDescriptor};
/// # fn main() -> rheos_core::Result<()> {
/// # let subtask = SubtaskInfo {
/// #     job: String::new(), uid: "m".into(), name: "m".into(), index: 0, parallelism: 1, key_groups: KeyGroups::all(128), key_group_count: 128,
/// # };
/// # let hash = 7;
/// struct Mean;
///
/// impl Aggregate for Mean {
///     type Input = f64;
///     type Accumulator = (f64, u64);
///     type Output = f64;
///     fn create(&self) -> (f64, u64) {
///         (0.0, 0)
///     }
///     fn add(&self, (sum, count): &mut (f64, u64), input: f64) {
///         *sum += input;
///         *count += 1;
///     }
///     fn result(&self, (sum, count): &(f64, u64)) -> f64 {
///         sum / *count as f64
///     }
///     fn merge(&self, (sum, count): &mut (f64, u64), other: (f64, u64)) {
///         *sum += other.0;
///         *count += other.1;
///     }
/// }
///
/// let mut means: AggregatingState<u32, Mean> = AggregatingState::open(&StateDescriptor::new("means"), Mean, &subtask, None)?;
/// means.add(hash, &1, 3.0)?;
/// means.add(hash, &1, 4.0)?;
/// assert_eq!(means.get(hash, &1)?, Some(3.5));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AggregatingState<K, A: Aggregate> {
    accumulators: ValueState<K, A::Accumulator>,
    aggregate: A,
}

impl<K, A: Aggregate> Expiring for AggregatingState<K, A> {}

impl<K: StateKey, A: Aggregate> AggregatingState<K, A> {
    /// The state of a subtask, with what a snapshot holds of it.
    pub fn open(
        descriptor: &StateDescriptor<Self>,
        aggregate: A,
        subtask: &SubtaskInfo,
        restored: Option<&OperatorSnapshot>,
    ) -> Result<Self> {
        let shape = Shape { kind: Kind::Aggregating, type_name: std::any::type_name::<Self>() };
        let accumulators = ValueState::open_as(shape, descriptor.name(), descriptor.ttl(), subtask, restored)?;
        Ok(AggregatingState { accumulators, aggregate })
    }

    /// Takes an input of a key in.
    #[inline]
    pub fn add(&mut self, hash: u64, key: &K, input: A::Input) -> Result<()> {
        let accumulator = self.accumulators.get_or_insert_with(hash, key, || self.aggregate.create())?;
        self.aggregate.add(accumulator, input);
        Ok(())
    }

    /// Takes in what was accumulated elsewhere: for another key, or by another subtask.
    pub fn merge(&mut self, hash: u64, key: &K, other: A::Accumulator) -> Result<()> {
        let accumulator = self.accumulators.get_or_insert_with(hash, key, || self.aggregate.create())?;
        self.aggregate.merge(accumulator, other);
        Ok(())
    }

    /// What the inputs of a key come to.
    pub fn get(&mut self, hash: u64, key: &K) -> Result<Option<A::Output>> {
        Ok(self.accumulators.get(hash, key)?.map(|accumulator| self.aggregate.result(accumulator)))
    }

    /// Forgets a key. Returns its accumulator.
    pub fn remove(&mut self, hash: u64, key: &K) -> Result<Option<A::Accumulator>> {
        self.accumulators.remove(hash, key)
    }

    /// As [`ValueState::len`].
    pub fn len(&self) -> usize {
        self.accumulators.len()
    }

    /// As [`ValueState::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.accumulators.is_empty()
    }

    /// All keys and their accumulators, as [`ValueState::iter`].
    pub fn iter(&self) -> impl Iterator<Item = (&K, &A::Accumulator)> {
        self.accumulators.iter()
    }

    /// As [`ValueState::advance`].
    pub fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
        self.accumulators.advance(domain, now_ms);
    }

    /// As [`ValueState::snapshot`].
    pub fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        self.accumulators.snapshot(mode, into)
    }
}
