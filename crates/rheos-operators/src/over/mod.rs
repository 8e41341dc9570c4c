//! `over-aggregate`: window functions, a value for each row of the rows around it.
//!
//! Over event time ([`in_time`]) a row comes out once, when the watermark has passed it; otherwise ([`updating`]) rows come out
//! at once and are corrected. Both compute with [`frames`].

mod frames;
mod in_time;
#[cfg(test)]
mod tests;
mod updating;

use rheos_core::operator::Operator;
use rheos_core::registry::Registry;

use self::in_time::InTime;
use crate::rank::{LongKey, RowOrder, ShortKey};
use crate::read_spec;
use crate::spec::OverSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("over-aggregate", |spec| {
        let spec: OverSpec = read_spec(spec)?;
        if spec.time.is_some() {
            return Ok(Box::new(InTime::new(spec)?) as Box<dyn Operator>);
        }
        let order = RowOrder::new(&spec.order, &spec.input.to_arrow())?;
        Ok(match order.is_short() {
            true => Box::new(updating::Updating::<ShortKey>::new(spec, order)?) as Box<dyn Operator>,
            false => Box::new(updating::Updating::<LongKey>::new(spec, order)?),
        })
    });
}
