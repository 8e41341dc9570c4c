//! Whether two results are the same: line by line, numbers with a fraction within a tolerance.

/// `None` where they are the same, else the first difference.
pub(crate) fn difference(got: &str, expected: &str, types: &[String]) -> Option<String> {
    if got == expected {
        return None;
    }
    let (mut got_lines, mut expected_lines) = (got.lines(), expected.lines());
    let (got_header, expected_header) = (got_lines.next().unwrap_or_default(), expected_lines.next().unwrap_or_default());
    if got_header != expected_header {
        return Some(format!("the header is '{got_header}', not '{expected_header}'"));
    }
    let tolerances: Vec<Option<f64>> = types.iter().map(|t| tolerance(t)).collect();
    let mut missing: Vec<Vec<&str>> = expected_lines.map(cells).collect();
    let mut surplus = Vec::new();
    for line in got_lines {
        let row = cells(line);
        match missing.iter().position(|other| same(&row, other, &tolerances)) {
            Some(at) => drop(missing.remove(at)),
            None => surplus.push(line),
        }
    }
    if missing.is_empty() && surplus.is_empty() {
        return None;
    }
    let first = |sign: &str, line: Option<String>| line.map_or_else(String::new, |l| format!("\n  {sign} {l}"));
    Some(format!(
        "{} rows missing, {} too many{}{}",
        missing.len(),
        surplus.len(),
        first("-", missing.first().map(|cells| cells.join("\t"))),
        first("+", surplus.first().map(|line| line.to_string()))
    ))
}

fn tolerance(ty: &str) -> Option<f64> {
    match ty {
        t if t.starts_with("DOUBLE") => Some(1e-9),
        t if t.starts_with("FLOAT") => Some(1e-5),
        _ => None,
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split('\t').collect()
}

fn same(a: &[&str], b: &[&str], tolerances: &[Option<f64>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).enumerate().all(|(i, (x, y))| x == y || close(x, y, tolerances.get(i).copied().flatten()))
}

fn close(x: &str, y: &str, tolerance: Option<f64>) -> bool {
    let (Some(tolerance), Ok(x), Ok(y)) = (tolerance, x.parse::<f64>(), y.parse::<f64>()) else { return false };
    (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1e-300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(types: &[&str]) -> Vec<String> {
        types.iter().map(|t| t.to_string()).collect()
    }

    #[test]
    fn only_floats_have_a_tolerance() {
        assert_eq!(difference("x\n0.1\n", "x\n0.10000000000001\n", &types(&["DOUBLE"])), None);
        assert!(difference("x\n0.1\n", "x\n0.10000000000001\n", &types(&["STRING"])).is_some());
        assert!(difference("x\n0.1\n", "x\n0.2\n", &types(&["DOUBLE NOT NULL"])).is_some());
    }

    #[test]
    fn rows_are_compared_as_multisets() {
        assert_eq!(difference("x\n1\n1\n2\n", "x\n1\n1\n2\n", &[]), None);
        let found = difference("x\n1\n1\n2\n", "x\n1\n2\n2\n", &[]).unwrap();
        assert!(found.starts_with("1 rows missing, 1 too many"), "{found}");
        assert!(difference("x\n", "y\n", &[]).unwrap().contains("header"));
    }
}
