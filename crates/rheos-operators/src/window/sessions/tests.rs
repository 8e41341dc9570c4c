//! How many sessions are looked at to find those of a row.

use super::*;

/// Sessions of which only the times matter.
struct Nothing;

impl SlotColumns for Nothing {
    fn types(&self) -> Vec<DataType> {
        Vec::new()
    }
    fn grow(&mut self, _: usize) {}
    fn clear(&mut self, _: &[Slot]) {}
    fn save(&self, _: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(Vec::new())
    }
    fn load(&mut self, _: &[Slot], _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }
}

impl SessionValues for Nothing {
    fn merge(&mut self, _: Slot, _: Slot) -> Result<()> {
        Ok(())
    }
}

fn assign(sessions: &mut Sessions<Nothing>, times: Vec<i64>, sign: i8) -> Assigned {
    let signs = vec![sign; times.len()];
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![1; times.len()]));
    let times: ArrayRef = Arc::new(arrow::array::TimestampMillisecondArray::from(times));
    let mut assigned = Assigned::default();
    sessions.assign(&[&keys], &times, Some(&signs), i64::MIN, &mut assigned).unwrap();
    assigned
}

#[test]
fn a_row_looks_only_at_the_sessions_that_it_may_touch() {
    const ROWS: usize = 1000;
    let mut sessions = Sessions::new(&[DataType::Int64], 10, Nothing).unwrap();
    let apart = |offset: i64| (0..ROWS as i64).map(|i| 100 * i + offset).collect::<Vec<_>>();
    let begun = assign(&mut sessions, apart(0), 1).slots;
    assert_eq!(sessions.len(), ROWS);
    assert_eq!(assign(&mut sessions, apart(9), -1).slots, begun, "within the session");
    assert_eq!(assign(&mut sessions, apart(10), -1).late, ROWS as u64, "after its last millisecond");
    assert_eq!(assign(&mut sessions, apart(10), 1).slots, begun, "touches it");
    assert_eq!(assign(&mut sessions, apart(-10), 1).slots, begun, "touches its start");
    assert!(sessions.looked_at <= 2 * 5 * ROWS, "looked at {}", sessions.looked_at);
    assert_eq!(sessions.window(begun[7]), Window { start: 690, end: 720 });
    sessions.remove(&begun[1..]);
    assign(&mut sessions, vec![20], 1);
    assert_eq!((sessions.len(), sessions.window(begun[0])), (1, Window { start: -10, end: 30 }), "the one that is left is found");
    sessions.remove(&begun[..1]);
    assert_eq!((sessions.len(), sessions.by_start.len(), sessions.keys.len()), (0, 0, 0));
}
