//! Which aggregate functions there are, which arguments they take, and of what type their results are.

use rheos_core::types::{LogicalType, TypeKind};

/// A call as resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The canonical name, for [`super::AggregateCall::function`].
    pub name: String,
    /// What each argument is to be cast to.
    pub arg_types: Vec<LogicalType>,
    /// The type of the result in a group that has rows. A call that may see no row (no GROUP BY, or a FILTER) gives the
    /// same with NULL allowed, except where [`Resolved::never_null`].
    pub result: LogicalType,
}

impl Resolved {
    /// Whether the result is a value even when no row was aggregated: counts, and collections that are then empty.
    pub fn never_null(&self) -> bool {
        matches!(self.name.as_str(), "COUNT" | "SUM0" | "COLLECT") || self.name.starts_with("JSON_")
    }
}

type Resolve = fn(&[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String>;

/// Name, canonical name, how it is written, how it is resolved. Sorted by name.
const FUNCTIONS: &[(&str, &str, &str, Resolve)] = &[
    ("ARRAY_AGG", "ARRAY_AGG", "ARRAY_AGG(value)", array_agg),
    ("ARRAY_AGG_IGNORE_NULLS", "ARRAY_AGG_IGNORE_NULLS", "ARRAY_AGG(value IGNORE NULLS)", array_agg),
    ("AVG", "AVG", "AVG(number)", average),
    ("COLLECT", "COLLECT", "COLLECT(value)", collect),
    ("COUNT", "COUNT", "COUNT(*) or COUNT(value)", count),
    ("FIRST_VALUE", "FIRST_VALUE", "FIRST_VALUE(value)", same),
    ("JSON_ARRAYAGG", "JSON_ARRAYAGG_ABSENT_ON_NULL", "JSON_ARRAYAGG(value [NULL ON NULL | ABSENT ON NULL])", json_array),
    ("JSON_ARRAYAGG_ABSENT_ON_NULL", "JSON_ARRAYAGG_ABSENT_ON_NULL", "JSON_ARRAYAGG(value ABSENT ON NULL)", json_array),
    ("JSON_ARRAYAGG_NULL_ON_NULL", "JSON_ARRAYAGG_NULL_ON_NULL", "JSON_ARRAYAGG(value NULL ON NULL)", json_array),
    ("JSON_OBJECTAGG", "JSON_OBJECTAGG_NULL_ON_NULL", "JSON_OBJECTAGG(KEY text VALUE value [NULL ON NULL | ABSENT ON NULL])", json_object),
    ("JSON_OBJECTAGG_ABSENT_ON_NULL", "JSON_OBJECTAGG_ABSENT_ON_NULL", "JSON_OBJECTAGG(KEY text VALUE value ABSENT ON NULL)", json_object),
    ("JSON_OBJECTAGG_NULL_ON_NULL", "JSON_OBJECTAGG_NULL_ON_NULL", "JSON_OBJECTAGG(KEY text VALUE value NULL ON NULL)", json_object),
    ("LAST_VALUE", "LAST_VALUE", "LAST_VALUE(value)", same),
    ("LISTAGG", "LISTAGG", "LISTAGG(text [, separator])", list_text),
    ("MAX", "MAX", "MAX(value)", extreme),
    ("MIN", "MIN", "MIN(value)", extreme),
    ("PERCENTILE", "PERCENTILE", "PERCENTILE(number, fraction or ARRAY of fractions [, frequency])", percentile),
    ("SINGLE_VALUE", "SINGLE_VALUE", "SINGLE_VALUE(value)", same),
    ("STDDEV", "STDDEV_SAMP", "STDDEV(number)", average),
    ("STDDEV_POP", "STDDEV_POP", "STDDEV_POP(number)", average),
    ("STDDEV_SAMP", "STDDEV_SAMP", "STDDEV_SAMP(number)", average),
    ("SUM", "SUM", "SUM(number)", sum),
    ("SUM0", "SUM0", "SUM0(number)", sum0),
    ("VARIANCE", "VAR_SAMP", "VARIANCE(number)", average),
    ("VAR_POP", "VAR_POP", "VAR_POP(number)", average),
    ("VAR_SAMP", "VAR_SAMP", "VAR_SAMP(number)", average),
];

/// Chooses the function for the types of its arguments; DISTINCT changes neither types nor names. The error says what would
/// be right, without naming the call. `name` may have any case; COUNT without arguments is COUNT(*).
///
/// ```
/// use rheos_core::types::TypeKind;
/// use rheos_operators::spec::aggregate::resolve;
/// let average = resolve("avg", &[TypeKind::Decimal(10, 2).nullable()], false).unwrap();
/// assert_eq!(average.result, TypeKind::Decimal(38, 6).nullable());
/// assert!(resolve("avg", &[TypeKind::STRING.nullable()], false).unwrap_err().contains("a number"));
/// ```
pub fn resolve(name: &str, arg_types: &[LogicalType], distinct: bool) -> Result<Resolved, String> {
    let upper = name.to_ascii_uppercase();
    let Some((_, canonical, usage, resolve)) = FUNCTIONS.iter().find(|(n, ..)| *n == upper) else {
        return Err(match upper.as_str() {
            "APPROX_COUNT_DISTINCT" => "approximate counts are not supported; write COUNT(DISTINCT ...)".into(),
            _ => format!("no aggregate function {upper}"),
        });
    };
    if distinct && arg_types.is_empty() {
        return Err("DISTINCT needs an argument".into());
    }
    let (arg_types, result) = resolve(arg_types).map_err(|e| format!("{e}; usage: {usage}"))?;
    Ok(Resolved { name: (*canonical).to_string(), arg_types, result })
}

/// Whether there is an aggregate function of that name, in any case.
pub fn is_aggregate(name: &str) -> bool {
    names().any(|n| n.eq_ignore_ascii_case(name))
}

/// The names that a statement can use, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name).filter(|n| !n.contains("_ON_NULL") && !n.contains("_IGNORE_") && *n != "SUM0")
}

fn one(args: &[LogicalType]) -> Result<&LogicalType, String> {
    match args {
        [arg] if arg.kind == TypeKind::Null => Err("takes a value of a known type, not a bare NULL: CAST(NULL AS ...)".into()),
        [arg] => Ok(arg),
        _ => Err(format!("takes one argument, not {}", args.len())),
    }
}

fn number(args: &[LogicalType]) -> Result<&LogicalType, String> {
    let arg = one(args)?;
    if arg.kind.is_numeric() { Ok(arg) } else { Err(format!("takes a number, not {}", arg.kind)) }
}

fn count(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    Ok((args.to_vec(), TypeKind::BigInt.not_null()))
}

fn same(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let arg = one(args)?;
    Ok((vec![arg.clone()], arg.clone()))
}

fn extreme(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let arg = one(args)?;
    if arg.kind.is_nested() {
        return Err(format!("takes values that can be ordered, not {}", arg.kind));
    }
    same(args)
}

fn sum(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let arg = number(args)?;
    let kind = match arg.kind {
        TypeKind::Decimal(_, s) => TypeKind::Decimal(38, s),
        ref other => other.clone(),
    };
    Ok((vec![arg.clone()], kind.with_nullable(arg.nullable)))
}

fn sum0(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let (args, result) = sum(args)?;
    Ok((args, result.with_nullable(false)))
}

fn average(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let arg = number(args)?;
    let kind = match arg.kind {
        TypeKind::Decimal(_, s) => TypeKind::Decimal(38, s.max(6)),
        ref other => other.clone(),
    };
    Ok((vec![arg.clone()], kind.with_nullable(arg.nullable)))
}

fn collect(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let arg = one(args)?;
    Ok((vec![arg.clone()], TypeKind::Multiset(Box::new(arg.clone())).not_null()))
}

fn array_agg(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let arg = one(args)?;
    Ok((vec![arg.clone()], TypeKind::Array(Box::new(arg.clone())).nullable()))
}

/// What a value can be turned into text from without a choice of format.
fn text(arg: &LogicalType, what: &str) -> Result<LogicalType, String> {
    if arg.kind.is_nested() || arg.kind.is_binary() {
        return Err(format!("takes text as its {what}, not {}", arg.kind));
    }
    Ok(if arg.kind.is_character() { arg.clone() } else { TypeKind::STRING.with_nullable(arg.nullable) })
}

fn list_text(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let args = match args {
        [value] => vec![text(value, "value")?],
        [value, separator] => vec![text(value, "value")?, text(separator, "separator")?],
        _ => return Err(format!("takes one or two arguments, not {}", args.len())),
    };
    Ok((args, TypeKind::STRING.nullable()))
}

/// As Flink declares the text that a JSON aggregate gives.
const JSON_TEXT: TypeKind = TypeKind::Varchar(2000);

fn json_array(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    match args {
        [value] => Ok((vec![value.clone()], JSON_TEXT.not_null())),
        _ => Err(format!("takes one argument, not {}", args.len())),
    }
}

fn json_object(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    match args {
        [key, value] if key.kind.is_character() => Ok((vec![key.clone(), value.clone()], JSON_TEXT.not_null())),
        [key, _] => Err(format!("takes text as its key, not {}", key.kind)),
        _ => Err(format!("takes a key and a value, not {} arguments", args.len())),
    }
}

fn percentile(args: &[LogicalType]) -> Result<(Vec<LogicalType>, LogicalType), String> {
    let (value, fraction, frequency) = match args {
        [value, fraction] => (value, fraction, None),
        [value, fraction, frequency] => (value, fraction, Some(frequency)),
        _ => return Err(format!("takes two or three arguments, not {}", args.len())),
    };
    if !value.kind.is_numeric() {
        return Err(format!("takes a number as its value, not {}", value.kind));
    }
    let double = TypeKind::Double;
    let (fraction, result) = match &fraction.kind {
        kind if kind.is_numeric() => (double.clone().with_nullable(fraction.nullable), double.clone()),
        TypeKind::Array(element) if element.kind.is_numeric() => {
            let array = |nullable| TypeKind::Array(Box::new(double.clone().with_nullable(nullable)));
            (array(element.nullable).with_nullable(fraction.nullable), array(true))
        }
        other => return Err(format!("takes a number or an ARRAY of numbers as its fraction, not {other}")),
    };
    let mut types = vec![double.with_nullable(value.nullable), fraction];
    match frequency {
        Some(f) if f.kind.is_integer() => types.push(TypeKind::BigInt.with_nullable(f.nullable)),
        Some(f) => return Err(format!("takes an integer as its frequency, not {}", f.kind)),
        None => {}
    }
    Ok((types, result.nullable()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &str, args: &[TypeKind]) -> String {
        let args: Vec<LogicalType> = args.iter().cloned().map(TypeKind::nullable).collect();
        resolve(name, &args, false).map_or_else(|e| e, |r| format!("{} {}", r.name, r.result))
    }

    #[test]
    fn result_types_are_those_of_flink() {
        assert_eq!(result("COUNT", &[]), "COUNT BIGINT NOT NULL");
        assert_eq!(result("SUM", &[TypeKind::TinyInt]), "SUM TINYINT");
        assert_eq!(result("SUM", &[TypeKind::Decimal(8, 3)]), "SUM DECIMAL(38, 3)");
        assert_eq!(result("AVG", &[TypeKind::Int]), "AVG INT");
        assert_eq!(result("AVG", &[TypeKind::Decimal(30, 18)]), "AVG DECIMAL(38, 18)");
        assert_eq!(result("STDDEV", &[TypeKind::Int]), "STDDEV_SAMP INT");
        assert_eq!(result("COLLECT", &[TypeKind::Int]), "COLLECT MULTISET<INT> NOT NULL");
        assert_eq!(result("JSON_ARRAYAGG", &[TypeKind::Int]), "JSON_ARRAYAGG_ABSENT_ON_NULL VARCHAR(2000) NOT NULL");
        let fractions = TypeKind::Array(Box::new(TypeKind::Decimal(3, 2).not_null()));
        assert_eq!(result("PERCENTILE", &[TypeKind::Int, fractions]), "PERCENTILE ARRAY<DOUBLE>");
    }

    #[test]
    fn a_wrong_call_says_what_would_be_right() {
        assert_eq!(result("SUM", &[TypeKind::STRING]), "takes a number, not STRING; usage: SUM(number)");
        assert_eq!(result("MAX", &[TypeKind::Int, TypeKind::Int]), "takes one argument, not 2; usage: MAX(value)");
        assert_eq!(result("MEDIAN", &[TypeKind::Int]), "no aggregate function MEDIAN");
    }

    #[test]
    fn names_are_sorted_and_hide_internal_ones() {
        assert!(FUNCTIONS.is_sorted_by_key(|f| f.0));
        assert!(is_aggregate("json_arrayagg") && !is_aggregate("JSON_ARRAYAGG_NULL_ON_NULL"));
    }
}
