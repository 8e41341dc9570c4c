//! What time it is: once for each batch, from the clock of the environment.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, Time32MillisecondArray, TimestampMillisecondArray};

use rheos_core::error::Result;
use rheos_core::text::calendar::MS_PER_DAY;
use rheos_core::time::MIN_WATERMARK;
use rheos_core::types::TypeKind;

use crate::function::{Arg, Call, Signature, Value};

use super::local::session_zone;
use super::signature;
use super::text::read_unix_timestamps;
use crate::functions::signature::Param::{Any, Text};

pub(super) fn resolve(args: &[Arg<'_>], result: TypeKind) -> Result<Signature, String> {
    signature(args, &[], &[], result)
}

pub(super) fn resolve_instant(args: &[Arg<'_>]) -> Result<Signature, String> {
    resolve(args, TypeKind::TimestampLtz(3))
}

fn constant(array: ArrayRef) -> Value {
    Value::Constant(array)
}

fn now_ms(call: &Call<'_>) -> Result<i64> {
    Ok(call.env()?.clock.now_ms())
}

/// What the session's wall clock shows.
fn local_ms(call: &Call<'_>) -> Result<i64> {
    let now = now_ms(call)?;
    Ok(now + i64::from(session_zone(call)?.offset_at(now)) * 1000)
}

pub(super) fn instant(call: &Call<'_>) -> Result<Value> {
    Ok(constant(Arc::new(TimestampMillisecondArray::from(vec![now_ms(call)?]).with_timezone("UTC"))))
}

pub(super) fn resolve_watermark(args: &[Arg<'_>]) -> Result<Signature, String> {
    let kind = match args.first().map(|arg| arg.ty().kind.clone()) {
        Some(TypeKind::TimestampLtz(_)) => TypeKind::TimestampLtz(3),
        _ => TypeKind::Timestamp(3),
    };
    let s = signature(args, &[Any], &[], kind.clone())?;
    Ok(Signature { result: kind.nullable(), ..s })
}

/// In the type of the row time; NULL before the first.
pub(super) fn watermark(call: &Call<'_>) -> Result<Value> {
    let at = Some(call.watermark_ms()?).filter(|at| *at > MIN_WATERMARK);
    let zone = matches!(call.result.kind, TypeKind::TimestampLtz(_)).then_some("UTC");
    Ok(constant(Arc::new(TimestampMillisecondArray::from(vec![at]).with_timezone_opt(zone))))
}

pub(super) fn timestamp(call: &Call<'_>) -> Result<Value> {
    Ok(constant(Arc::new(TimestampMillisecondArray::from(vec![local_ms(call)?]))))
}

pub(super) fn date(call: &Call<'_>) -> Result<Value> {
    Ok(constant(Arc::new(Date32Array::from(vec![local_ms(call)?.div_euclid(MS_PER_DAY) as i32]))))
}

/// To the second, as the type says.
pub(super) fn time(call: &Call<'_>) -> Result<Value> {
    let ms = local_ms(call)?.rem_euclid(MS_PER_DAY);
    Ok(constant(Arc::new(Time32MillisecondArray::from(vec![(ms - ms % 1000) as i32]))))
}

/// Without arguments it is never NULL; a text may not be of the pattern.
pub(super) fn resolve_unix_timestamp(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(args, &[], &[Text, Text], TypeKind::BigInt)?;
    let nullable = !args.is_empty();
    Ok(Signature { result: TypeKind::BigInt.with_nullable(nullable), ..s })
}

pub(super) fn unix_timestamp(call: &Call<'_>) -> Result<Value> {
    if call.args.is_empty() {
        return Ok(constant(Arc::new(Int64Array::from(vec![now_ms(call)?.div_euclid(1000)]))));
    }
    read_unix_timestamps(call)
}
