//! The legal order of elements on a channel, and a checker for tests and debug builds.
//!
//! ```text
//! channel   := item* End
//! item      := Batch            not while idle
//!            | At(w)            w greater than every w before; not while idle
//!            | Idle             only while active
//!            | Active           only while idle
//!            | Barrier(e)       e greater than every e before
//! ```
//!
//! A channel starts active. A row may be later than the watermark says: lateness is the operator's business.

use crate::element::{Element, Epoch};
use crate::time::{TimestampMs, Watermark};

/// Checks one channel's elements against the grammar.
#[derive(Debug, Default)]
pub struct GrammarChecker {
    watermark: Option<TimestampMs>,
    epoch: Option<Epoch>,
    idle: bool,
    ended: bool,
}

impl GrammarChecker {
    /// A checker at the start of a channel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next element in; the error says which rule it breaks.
    pub fn check(&mut self, element: &Element) -> Result<(), String> {
        if self.ended {
            return Err(format!("{} after the end", name(element)));
        }
        match element {
            Element::Batch(b) if self.idle => return Err(format!("{} rows while idle", b.num_rows())),
            Element::Batch(b) if b.num_rows() == 0 => return Err("an empty batch".into()),
            Element::Batch(_) => {}
            Element::Watermark(Watermark::At(at)) => {
                if self.idle {
                    return Err(format!("watermark {at} while idle"));
                }
                if let Some(last) = self.watermark.filter(|last| at <= last) {
                    return Err(format!("watermark {at} after {last}"));
                }
                self.watermark = Some(*at);
            }
            Element::Watermark(Watermark::Idle) if self.idle => return Err("idle twice".into()),
            Element::Watermark(Watermark::Idle) => self.idle = true,
            Element::Watermark(Watermark::Active) if !self.idle => return Err("active twice".into()),
            Element::Watermark(Watermark::Active) => self.idle = false,
            Element::Barrier(b) => {
                if let Some(last) = self.epoch.filter(|last| b.epoch <= *last) {
                    return Err(format!("barrier {} after {last}", b.epoch));
                }
                self.epoch = Some(b.epoch);
            }
            Element::End => self.ended = true,
        }
        Ok(())
    }

    /// Whether the end was seen.
    pub fn ended(&self) -> bool {
        self.ended
    }
}

fn name(element: &Element) -> &'static str {
    match element {
        Element::Batch(_) => "a batch",
        Element::Watermark(_) => "a watermark",
        Element::Barrier(_) => "a barrier",
        Element::End => "an end",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Barrier;
    use crate::rows::RowBatch;

    fn check(elements: &[Element]) -> Result<(), String> {
        let mut checker = GrammarChecker::new();
        elements.iter().try_for_each(|e| checker.check(e))
    }

    fn rows() -> Element {
        Element::Batch(RowBatch::new(vec![1]).into())
    }

    fn at(ms: i64) -> Element {
        Element::Watermark(Watermark::At(ms))
    }

    #[test]
    fn a_legal_channel_passes() {
        let idle = Element::Watermark(Watermark::Idle);
        let active = Element::Watermark(Watermark::Active);
        check(&[rows(), at(1), idle, Element::Barrier(Barrier::aligned(1)), active, rows(), at(2), Element::End]).unwrap();
    }

    #[test]
    fn each_rule_is_kept() {
        assert_eq!(check(&[at(2), at(2)]).unwrap_err(), "watermark 2 after 2");
        assert_eq!(check(&[Element::Watermark(Watermark::Idle), rows()]).unwrap_err(), "1 rows while idle");
        assert_eq!(check(&[Element::Watermark(Watermark::Active)]).unwrap_err(), "active twice");
        assert_eq!(check(&[Element::End, rows()]).unwrap_err(), "a batch after the end");
        assert_eq!(check(&[Element::Batch(RowBatch::new(Vec::<u8>::new()).into())]).unwrap_err(), "an empty batch");
        let barrier = Element::Barrier(Barrier::aligned(3));
        assert_eq!(check(&[barrier.clone(), barrier]).unwrap_err(), "barrier 3 after 3");
    }
}
