//! Rows of a Rust type with the type erased, so that one runtime carries every program's types.

use std::any::Any;
use std::fmt;

use crate::error::Error;

/// A type whose values can flow between the operators of a program.
pub trait Row: Any + Clone + Send + Sync + fmt::Debug {}

impl<T: Any + Clone + Send + Sync + fmt::Debug> Row for T {}

/// Rows of one Rust type. Operators get them back with [`RowBatch::downcast`].
pub struct RowBatch {
    rows: Box<dyn ErasedRows>,
}

impl RowBatch {
    /// Takes the rows in.
    pub fn new<T: Row>(rows: Vec<T>) -> Self {
        RowBatch { rows: Box::new(rows) }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the row's type, for messages.
    pub fn type_name(&self) -> &'static str {
        self.rows.type_name()
    }

    /// The memory of the rows themselves in bytes; what they point to is not seen.
    pub fn retained_bytes(&self) -> usize {
        self.rows.retained_bytes()
    }

    /// The rows as `T`, or the batch back where they are of another type.
    pub fn downcast<T: Row>(self) -> Result<Vec<T>, RowBatch> {
        if self.rows.as_any().is::<Vec<T>>() {
            let any: Box<dyn Any> = self.rows.into_any();
            Ok(*any.downcast::<Vec<T>>().expect("its type was just checked"))
        } else {
            Err(self)
        }
    }

    /// A view of the rows as `T`.
    pub fn downcast_ref<T: Row>(&self) -> Option<&[T]> {
        self.rows.as_any().downcast_ref::<Vec<T>>().map(Vec::as_slice)
    }

    /// One batch of the rows of all, in order; they must be of one type, and there must be at least one batch.
    pub fn concat(batches: Vec<RowBatch>) -> Result<RowBatch, Error> {
        let mut batches = batches.into_iter();
        let mut all = batches.next().ok_or_else(|| Error::bug("no batches to join"))?;
        for batch in batches {
            let (into, from) = (all.type_name(), batch.type_name());
            all.rows.append(batch.rows).map_err(|()| Error::bug(format!("rows of {from} cannot join rows of {into}")))?;
        }
        Ok(all)
    }

    /// Rows `offset .. offset + length`, copied.
    pub fn slice(&self, offset: usize, length: usize) -> RowBatch {
        RowBatch { rows: self.rows.slice(offset, length) }
    }

    /// Splits the rows over `parts` outputs; row `i` goes to `targets[i]`, order is kept within each.
    pub fn split(self, targets: &[u32], parts: usize) -> Vec<Option<RowBatch>> {
        self.rows.split(targets, parts).into_iter().map(|rows| rows.map(|rows| RowBatch { rows })).collect()
    }
}

impl Clone for RowBatch {
    fn clone(&self) -> Self {
        self.slice(0, self.len())
    }
}

impl fmt::Debug for RowBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {}", self.len(), self.type_name())
    }
}

trait ErasedRows: Send + Sync {
    fn len(&self) -> usize;
    fn type_name(&self) -> &'static str;
    fn retained_bytes(&self) -> usize;
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn append(&mut self, other: Box<dyn ErasedRows>) -> Result<(), ()>;
    fn slice(&self, offset: usize, length: usize) -> Box<dyn ErasedRows>;
    fn split(self: Box<Self>, targets: &[u32], parts: usize) -> Vec<Option<Box<dyn ErasedRows>>>;
}

impl<T: Row> ErasedRows for Vec<T> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn retained_bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn append(&mut self, other: Box<dyn ErasedRows>) -> Result<(), ()> {
        let mut other = other.into_any().downcast::<Vec<T>>().map_err(|_| ())?;
        Vec::append(self, &mut other);
        Ok(())
    }

    fn slice(&self, offset: usize, length: usize) -> Box<dyn ErasedRows> {
        Box::new(self[offset..offset + length].to_vec())
    }

    fn split(self: Box<Self>, targets: &[u32], parts: usize) -> Vec<Option<Box<dyn ErasedRows>>> {
        let mut split: Vec<Vec<T>> = (0..parts).map(|_| Vec::new()).collect();
        for (row, target) in self.into_iter().zip(targets) {
            split[*target as usize].push(row);
        }
        split.into_iter().map(|rows| if rows.is_empty() { None } else { Some(Box::new(rows) as Box<dyn ErasedRows>) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_split_in_order_and_come_back_as_their_type() {
        let batch = RowBatch::new(vec![10u32, 11, 12, 13]);
        let split = batch.split(&[1, 0, 1, 1], 3);
        let parts: Vec<Option<Vec<u32>>> = split.into_iter().map(|b| b.map(|b| b.downcast::<u32>().unwrap())).collect();
        assert_eq!(parts, vec![Some(vec![11]), Some(vec![10, 12, 13]), None]);
    }

    #[test]
    fn rows_of_one_type_join_in_order_and_others_do_not() {
        let joined = RowBatch::concat(vec![RowBatch::new(vec![1u32, 2]), RowBatch::new(vec![3u32])]).unwrap();
        assert_eq!(joined.downcast::<u32>().unwrap(), vec![1, 2, 3]);
        assert!(RowBatch::concat(vec![RowBatch::new(vec![1u32]), RowBatch::new(vec!["a"])]).is_err());
    }

    #[test]
    fn a_wrong_type_gives_the_batch_back() {
        let batch = RowBatch::new(vec!["a".to_string()]);
        let back = batch.downcast::<u32>().unwrap_err();
        assert_eq!(back.len(), 1);
        assert!(back.type_name().contains("String"));
    }
}
