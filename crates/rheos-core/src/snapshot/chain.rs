//! From a base and its deltas to the rows that are live at the end.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::DataType;

use super::segment::{STATE, Segment, SegmentKind, key_groups, numbers};
use crate::error::{Error, Result};
use crate::routing::KeyGroups;

/// The segment that a row number was last written in: none.
const GONE: u32 = u32::MAX;

/// Adds the live rows of a chain, without their numbers, to `out`: those of the `owned` key groups, or all.
pub(super) fn live_rows(chain: &[Segment], owned: Option<&KeyGroups>, types: &[DataType], out: &mut Vec<RecordBatch>) -> Result<()> {
    let in_order = chain.iter().enumerate().all(|(i, s)| (s.kind == SegmentKind::Base) == (i == 0));
    if !in_order {
        return Err(Error::corrupt("the segments of a state are not a base and its deltas"));
    }
    let batches: Vec<Vec<RecordBatch>> = chain.iter().map(|s| s.batches(types)).collect::<Result<_>>()?;
    let last_written = if chain.len() > 1 { Some(last_written(chain, &batches)?) } else { None };
    for (i, (segment, batches)) in chain.iter().zip(&batches).enumerate() {
        let is_owned = |group| owned.is_none_or(|owned| owned.contains(group));
        let all = segment.groups.iter().all(|(group, _)| is_owned(*group));
        for batch in batches {
            let state = batch.project(&(STATE..batch.num_columns()).collect::<Vec<_>>())?;
            if all && last_written.is_none() {
                out.push(state);
                continue;
            }
            let keep = |number: &u32| last_written.as_ref().is_none_or(|last| last[*number as usize] == i as u32);
            let mask: BooleanArray =
                numbers(batch)?.iter().zip(key_groups(batch)?).map(|(number, group)| Some(is_owned(*group) && keep(number))).collect();
            if mask.true_count() > 0 {
                out.push(filter_record_batch(&state, &mask)?);
            }
        }
    }
    Ok(())
}

/// By row number: the last segment that has it.
fn last_written(chain: &[Segment], batches: &[Vec<RecordBatch>]) -> Result<Vec<u32>> {
    let mut last: Vec<u32> = Vec::new();
    for (i, (segment, batches)) in chain.iter().zip(batches).enumerate() {
        for number in &segment.removed {
            if let Some(row) = last.get_mut(*number as usize) {
                *row = GONE;
            }
        }
        for number in batches.iter().map(numbers).collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            let at = *number as usize;
            if at >= last.len() {
                last.resize(at + 1, GONE);
            }
            last[at] = i as u32;
        }
    }
    Ok(last)
}
