//! Event time: milliseconds since the epoch, and the watermark that measures its progress.

/// Milliseconds since 1970-01-01 00:00:00 UTC.
pub type TimestampMs = i64;

/// The watermark before anything is known.
pub const MIN_WATERMARK: TimestampMs = i64::MIN;
/// The watermark of a stream that has ended: every window closes.
pub const MAX_WATERMARK: TimestampMs = i64::MAX;

/// What an input says of event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watermark {
    /// No more rows with time <= this are expected, in milliseconds.
    At(TimestampMs),
    /// The input has nothing to say for now: it must hold nobody back.
    Idle,
    /// The input speaks again.
    Active,
}

/// Merges the watermarks of several inputs: the minimum over those that are active.
///
/// Invariants: the merged watermark never falls, also not when an idle input wakes behind it; an ended input is one at
/// [`MAX_WATERMARK`], which holds nobody back, and only when all have ended is that the merged watermark; all inputs that have
/// not ended idle means idle (so an idle input that may yet speak keeps the end of time away).
#[derive(Debug, Clone)]
pub struct WatermarkMerger {
    inputs: Vec<Input>,
    merged: TimestampMs,
    idle: bool,
}

#[derive(Debug, Clone, Copy)]
struct Input {
    at: TimestampMs,
    idle: bool,
}

impl WatermarkMerger {
    /// A merger of `inputs` channels, all active and at [`MIN_WATERMARK`].
    pub fn new(inputs: usize) -> Self {
        WatermarkMerger { inputs: vec![Input { at: MIN_WATERMARK, idle: false }; inputs], merged: MIN_WATERMARK, idle: false }
    }

    /// The merged watermark so far.
    pub fn current(&self) -> TimestampMs {
        self.merged
    }

    /// The watermark last heard from one input.
    pub fn of_input(&self, input: usize) -> TimestampMs {
        self.inputs[input].at
    }

    /// Takes in what `input` said, and returns what is to be passed on: at most a change of idleness and a watermark.
    pub fn update(&mut self, input: usize, said: Watermark) -> Vec<Watermark> {
        let state = &mut self.inputs[input];
        match said {
            Watermark::At(at) => {
                state.at = state.at.max(at);
                state.idle = false;
            }
            Watermark::Idle => state.idle = true,
            Watermark::Active => state.idle = false,
        }
        self.pass_on()
    }

    fn pass_on(&mut self) -> Vec<Watermark> {
        let mut said = Vec::new();
        let ended = |i: &Input| i.at == MAX_WATERMARK;
        let all_ended = self.inputs.iter().all(ended);
        let idle = !all_ended && self.inputs.iter().all(|i| i.idle || ended(i));
        let active = self.inputs.iter().filter(|i| all_ended || !(i.idle || ended(i))).map(|i| i.at).min();
        if self.idle && !idle {
            said.push(Watermark::Active);
        }
        if let Some(at) = active
            && at > self.merged
        {
            self.merged = at;
            said.push(Watermark::At(at));
        }
        if !self.idle && idle {
            said.push(Watermark::Idle);
        }
        self.idle = idle;
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Watermark::*;

    #[test]
    fn the_minimum_of_active_inputs_is_passed_on() {
        let mut m = WatermarkMerger::new(2);
        assert_eq!(m.update(0, At(10)), vec![]);
        assert_eq!(m.update(1, At(5)), vec![At(5)]);
        assert_eq!(m.update(1, At(20)), vec![At(10)]);
    }

    #[test]
    fn an_idle_input_holds_nobody_back_and_waking_never_regresses() {
        let mut m = WatermarkMerger::new(2);
        m.update(0, At(10));
        assert_eq!(m.update(1, Idle), vec![At(10)]);
        assert_eq!(m.update(0, Idle), vec![Idle]);
        assert_eq!(m.update(1, Active), vec![Active]);
        assert_eq!(m.update(1, At(3)), vec![], "behind the merged watermark");
        assert_eq!(m.current(), 10);
        assert_eq!(m.update(1, At(12)), vec![At(12)]);
    }

    #[test]
    fn the_end_of_time_waits_for_an_idle_input() {
        let mut m = WatermarkMerger::new(2);
        m.update(0, At(10));
        assert_eq!(m.update(1, Idle), vec![At(10)]);
        assert_eq!(m.update(0, At(MAX_WATERMARK)), vec![Idle]);
        assert_eq!(m.update(1, At(12)), vec![Active, At(12)]);
        assert_eq!(m.update(1, At(MAX_WATERMARK)), vec![At(MAX_WATERMARK)]);
    }

    #[test]
    fn an_ended_input_holds_nobody_back() {
        let mut m = WatermarkMerger::new(2);
        m.update(0, At(MAX_WATERMARK));
        assert_eq!(m.update(1, At(4)), vec![At(4)]);
        assert_eq!(m.update(1, At(MAX_WATERMARK)), vec![At(MAX_WATERMARK)]);
    }
}
