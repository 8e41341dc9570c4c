//! Faults happen as often as they should, the same way for a seed, and do what they say.

use futures_util::FutureExt;
use rheos_core::ErrorKind;
use rheos_core::env::ManualClock;
use rheos_core::testing::MemoryStorage;

use super::*;

fn faulty(text: &str) -> (FaultyStorage, MemoryStorage, Arc<ManualClock>) {
    let (memory, clock) = (MemoryStorage::new(), Arc::new(ManualClock::default()));
    (FaultyStorage::new(Arc::new(memory.clone()), Faults::parse(text).unwrap(), Arc::clone(&clock) as _), memory, clock)
}

/// Storage in memory never waits.
fn now<T>(future: BoxFuture<'static, T>) -> T {
    future.now_or_never().unwrap()
}

#[test]
fn a_text_is_read() {
    let expected = Faults { seed: 7, fail: 0.05, lost: 1.0, slow: 0.1, slow_ms: 2000 };
    assert_eq!(Faults::parse("seed=7, fail=0.05,lost=1,slow=0.1:2s").unwrap(), expected);
    assert_eq!(Faults::parse("").unwrap(), Faults::default());
}

#[test]
fn a_wrong_text_is_explained() {
    for (text, part) in [
        ("seed", "'seed' is wrong; each fault is written as name=value"),
        ("seed=-1", "a seed is a whole number"),
        ("fail=2", "'fail=2' is wrong; a rate is a number from 0 to 1"),
        ("fail=NaN", "a rate"),
        ("slow=0.1", "slow=0.1:200ms"),
        ("slow=0.1:5", "a whole number of ms or s"),
        ("slow=x:5s", "a rate"),
        ("slow=1:99999999999999999999s", "a whole number"),
        ("fast=1", "the faults are seed, fail, lost and slow"),
        ("fail=0.1,fail=0.2", "twice"),
    ] {
        let error = Faults::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FixConfig);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_failed_write_did_not_happen() {
    let (faulty, memory, _) = faulty("fail=1");
    let error = now(faulty.put("x", "1".into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retry);
    assert_eq!(error.to_string(), "memory: cannot write 'x': a fault on purpose");
    assert!(now(faulty.put_if_absent("x", "1".into())).is_err());
    assert_eq!(now(memory.get("x")).unwrap(), None);
    now(memory.put("x", "1".into())).unwrap();
    assert!(now(faulty.delete("x")).is_err());
    assert_eq!(now(faulty.get("x")).unwrap().unwrap(), "1");
}

#[test]
fn a_write_with_a_lost_reply_did_happen() {
    let (faulty, memory, _) = faulty("lost=1");
    assert!(now(faulty.put_if_absent("x", "1".into())).unwrap_err().to_string().contains("the reply was lost"));
    assert_eq!(now(memory.get("x")).unwrap().unwrap(), "1");
    assert!(now(faulty.delete("x")).is_err());
    assert_eq!(now(memory.list("")).unwrap(), []);
}

#[test]
fn a_slow_operation_waits_by_the_clock() {
    let (faulty, _, clock) = faulty("slow=1:200ms");
    now(faulty.put("x", "1".into())).unwrap();
    assert_eq!(clock.now_ms(), 200);
    now(faulty.list("")).unwrap();
    assert_eq!(clock.now_ms(), 400);
}

#[test]
fn a_seed_decides_which_operations_fail() {
    let failures = |text: &str| -> Vec<bool> {
        let (faulty, _, _) = faulty(text);
        (0..1000).map(|i| now(faulty.put(&format!("{i}"), "1".into())).is_err()).collect()
    };
    let first = failures("seed=1,fail=0.2");
    assert_eq!(first, failures("seed=1,fail=0.2"));
    assert_ne!(first, failures("seed=2,fail=0.2"));
    let count = first.iter().filter(|failed| **failed).count();
    assert!((150..250).contains(&count), "{count} of 1000 failed at a rate of 0.2");
}
