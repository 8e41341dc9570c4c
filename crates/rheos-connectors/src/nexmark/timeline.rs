//! When events happen: the time of an event by its number, under a constant or a changing rate.

use std::f64::consts::PI;

use rheos_core::time::TimestampMs;

use super::layout::Run;

/// How the rate moves between the first and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateShape {
    /// Half of the period at one rate, half at the other.
    Square,
    /// A cosine between the two, in ten steps.
    Sine,
}

/// A stretch of constant rate within a period.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    /// How many events it has.
    events: u64,
    delay_us: f64,
    /// When it starts within the period.
    start_ms: i64,
}

/// Event numbers to milliseconds after the first event; never falls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Timeline {
    /// One or more; the only one where the rate is constant.
    steps: Vec<Step>,
    period_ms: i64,
}

impl Timeline {
    /// Rates in events a second, both at least 1; they alternate over `period_s`.
    pub(super) fn new(first_rate: u32, next_rate: u32, shape: RateShape, period_s: u64) -> Self {
        let (first, next) = (f64::from(first_rate), f64::from(next_rate));
        let rates = match shape {
            _ if first_rate == next_rate => vec![first],
            RateShape::Square => vec![first, next],
            RateShape::Sine => {
                (0..10).map(|i| ((first + next) / 2.0 + (first - next) / 2.0 * (PI * f64::from(i) / 5.0).cos()).round()).collect()
            }
        };
        let step_s = period_s.div_ceil(rates.len() as u64).max(1);
        let step = |(i, rate): (usize, &f64)| Step {
            events: (step_s as f64 * rate).max(1.0) as u64,
            delay_us: 1e6 / rate,
            start_ms: i as i64 * step_s as i64 * 1000,
        };
        let period_ms = rates.len() as i64 * step_s as i64 * 1000;
        Timeline { steps: rates.iter().enumerate().map(step).collect(), period_ms }
    }

    /// When the event `number` happens.
    pub(super) fn offset_ms(&self, number: u64) -> i64 {
        let within = |step: &Step, number: u64| (number as f64 * step.delay_us) as i64 / 1000;
        if let [only] = &self.steps[..] {
            return within(only, number);
        }
        let events: u64 = self.steps.iter().map(|s| s.events).sum();
        let mut rest = number % events;
        let period_start_ms = (number / events) as i64 * self.period_ms;
        for step in &self.steps {
            if rest < step.events {
                return period_start_ms + step.start_ms + within(step, rest);
            }
            rest -= step.events;
        }
        period_start_ms + self.period_ms
    }

    /// Adds the times of a run's events.
    pub(super) fn push_times(&self, run: &Run, base_ms: TimestampMs, times: &mut Vec<i64>) {
        if let [only] = &self.steps[..] {
            let delay_us = only.delay_us;
            times.extend((0..run.rows as u64).map(|k| base_ms + (run.number(k) as f64 * delay_us) as i64 / 1000));
        } else {
            times.extend((0..run.rows as u64).map(|k| base_ms + self.offset_ms(run.number(k))));
        }
    }

    /// How many events, from the first on, have happened `elapsed_ms` after the first; at most `limit`.
    pub(super) fn due(&self, elapsed_ms: i64, limit: u64) -> u64 {
        let (mut low, mut high) = (0, limit);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset_ms(middle) <= elapsed_ms {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_spaces_events_evenly() {
        let timeline = Timeline::new(240, 240, RateShape::Square, 600);
        assert_eq!([0, 1, 2, 240, 480_000].map(|n| timeline.offset_ms(n)), [0, 4, 8, 1000, 2_000_000]);
    }

    #[test]
    fn a_square_rate_alternates_between_two() {
        let timeline = Timeline::new(10, 1000, RateShape::Square, 20);
        assert_eq!([0, 1, 100, 101, 10_100, 10_101].map(|n| timeline.offset_ms(n)), [0, 100, 10_000, 10_001, 20_000, 20_100]);
    }

    #[test]
    fn times_never_fall_and_due_is_their_inverse() {
        for timeline in [Timeline::new(1000, 1000, RateShape::Square, 600), Timeline::new(50, 300, RateShape::Sine, 10)] {
            assert!((1..5000).all(|n| timeline.offset_ms(n - 1) <= timeline.offset_ms(n)));
            assert!((0..5000).all(|n| timeline.due(timeline.offset_ms(n), u64::MAX >> 12) > n));
            assert!((1..5000).all(|n| timeline.due(timeline.offset_ms(n) - 1, u64::MAX >> 12) <= n));
        }
        assert_eq!(Timeline::new(1, 1, RateShape::Square, 600).due(-1, 10), 0);
    }
}
