//! The processor time of this process, as Linux counts it.

/// Linux counts in hundredths of a second, whatever the kernel's own clock (USER_HZ).
const NS_PER_TICK: u64 = 10_000_000;

/// User and system time of all threads so far, in nanoseconds; `None` where the system does not say.
pub(crate) fn process_time_ns() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Fields 14 and 15 of `/proc/self/stat`. The second field is a name in parentheses that may contain anything.
fn parse(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * NS_PER_TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added_whatever_the_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1000 200";
        assert_eq!(parse(stat), Some(3_000_000_000));
        assert_eq!(parse("rubbish"), None);
    }
}
