//! The reference.

use std::collections::BTreeMap;

use super::*;

/// A number or NULL.
pub(super) type Value3 = Option<i64>;

/// Which element each row of a match is of, from its first row on.
type Labels = Vec<usize>;

/// The matches that begin at one row.
struct Beginning {
    row: usize,
    /// The ways to go on, those preferred first.
    open: Vec<Labels>,
    complete: Option<Labels>,
}

pub(super) struct Model {
    case: Case,
    /// The rows of each partition that are not late, in order of arrival.
    partitions: BTreeMap<Value, Vec<Row>>,
    watermark: TimestampMs,
}

impl Model {
    pub(super) fn new(case: Case) -> Self {
        Model { case, partitions: BTreeMap::new(), watermark: TimestampMs::MIN }
    }

    pub(super) fn push(&mut self, row: &Row) {
        if number(&row[AT]).is_some_and(|at| at > self.watermark) {
            self.partitions.entry(row[0].clone()).or_default().push(row.clone());
        }
    }

    /// All matches up to a watermark, for each partition in the order in which they come out.
    pub(super) fn watermark(&mut self, at: TimestampMs) -> BTreeMap<Value, Vec<Row>> {
        self.watermark = self.watermark.max(at);
        let mut all = BTreeMap::new();
        for (key, rows) in &self.partitions {
            let mut rows: Vec<Row> = rows.iter().filter(|r| number(&r[AT]) <= Some(self.watermark)).cloned().collect();
            rows.sort_by(|a, b| {
                let by = |key: &SortKey| if key.descending { b[key.column].cmp(&a[key.column]) } else { a[key.column].cmp(&b[key.column]) };
                a[AT].cmp(&b[AT]).then_with(|| self.case.order.iter().map(by).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal))
            });
            let matches = self.matches(&rows);
            let measured = |(start, labels): (usize, Labels)| {
                let value = |r| self.value(r, &rows, start, &labels, None).map_or(Value::Null, Value::Int);
                [key.clone()].into_iter().chain(self.case.measures.iter().map(value)).collect::<Row>()
            };
            let matches: Vec<Row> = matches.into_iter().map(measured).collect();
            if !matches.is_empty() {
                all.insert(key.clone(), matches);
            }
        }
        all
    }

    fn matches(&self, rows: &[Row]) -> Vec<(usize, Labels)> {
        let mut beginnings: Vec<Beginning> = Vec::new();
        let mut out = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            self.time_out(&mut beginnings, rows, number(&row[AT]).unwrap());
            self.release(&mut beginnings, &mut out);
            beginnings.push(Beginning { row: i, open: vec![vec![]], complete: None });
            for beginning in beginnings.iter_mut().filter(|b| b.complete.is_none()) {
                self.go_on(beginning, rows);
            }
            self.release(&mut beginnings, &mut out);
        }
        self.time_out(&mut beginnings, rows, self.watermark);
        if self.watermark == MAX_WATERMARK {
            beginnings.iter_mut().for_each(|b| self.end(b));
        }
        self.release(&mut beginnings, &mut out);
        out
    }

    /// Gives the next row to every way that it fits.
    fn go_on(&self, beginning: &mut Beginning, rows: &[Row]) {
        for labels in std::mem::take(&mut beginning.open) {
            let elements = 0..self.case.elements.len();
            let fits = |e: &usize| self.may_follow(&labels, *e) && self.holds(*e, rows, beginning.row, &labels);
            let mut taken_by: Vec<usize> = elements.filter(fits).collect();
            // A greedy element leaves the row to none behind it.
            let greedy = taken_by.iter().position(|e| self.case.elements[*e].greedy);
            if greedy.is_none() && self.is_match(&labels) {
                beginning.complete.get_or_insert(labels);
                continue;
            }
            taken_by.truncate(greedy.map_or(taken_by.len(), |at| at + 1));
            // A reluctant element leaves it to those behind it if it can.
            for element in taken_by.into_iter().rev() {
                let next: Labels = labels.iter().copied().chain([element]).collect();
                let wanted = |e: usize| self.case.elements[e].greedy && self.may_follow(&next, e);
                if self.is_match(&next) && !(0..self.case.elements.len()).any(wanted) {
                    beginning.complete.get_or_insert(next);
                } else {
                    beginning.open.push(next);
                }
            }
        }
        if beginning.complete.is_some() {
            beginning.open.clear();
        }
    }

    fn count(labels: &Labels, element: usize) -> u32 {
        labels.iter().filter(|l| **l == element).count() as u32
    }

    /// Whether the next row may be of an element, whatever its values.
    fn may_follow(&self, labels: &Labels, element: usize) -> bool {
        let elements = &self.case.elements;
        let from = labels.last().copied().unwrap_or(0);
        element >= from
            && elements[element].max.is_none_or(|max| Self::count(labels, element) < max)
            && (from..element).all(|e| Self::count(labels, e) >= elements[e].min)
    }

    fn is_match(&self, labels: &Labels) -> bool {
        !labels.is_empty() && self.case.elements.iter().enumerate().all(|(e, element)| Self::count(labels, e) >= element.min)
    }

    fn end(&self, beginning: &mut Beginning) {
        let open = std::mem::take(&mut beginning.open);
        beginning.complete = beginning.complete.take().or_else(|| open.into_iter().find(|labels| self.is_match(labels)));
    }

    /// Ends what a row at `now` would come too late for.
    fn time_out(&self, beginnings: &mut [Beginning], rows: &[Row], now: i64) {
        for beginning in beginnings {
            let start = number(&rows[beginning.row][AT]).unwrap();
            if self.case.within_ms.is_some_and(|within| now - start >= within) {
                self.end(beginning);
            }
        }
    }

    /// Lets out matches that no earlier beginning may still forestall.
    fn release(&self, beginnings: &mut Vec<Beginning>, out: &mut Vec<(usize, Labels)>) {
        beginnings.retain(|b| b.complete.is_some() || !b.open.is_empty());
        while let Some(Beginning { row, complete: Some(labels), .. }) = beginnings.first() {
            let (row, labels) = (*row, labels.clone());
            let of_variable = |v: usize| {
                let is_of = |i: &usize| self.case.elements[labels[*i]].variable == v;
                (0..labels.len()).filter(is_of).map(|i| row + i).collect::<Vec<_>>()
            };
            let to = match self.case.after {
                AfterMatch::PastLastRow => row + labels.len(),
                AfterMatch::ToNextRow => row + 1,
                AfterMatch::ToFirst(v) => of_variable(v).first().copied().unwrap_or(0),
                AfterMatch::ToLast(v) => of_variable(v).last().copied().unwrap_or(0),
            };
            beginnings.retain(|b| b.row >= to.max(row + 1));
            out.push((row, labels));
        }
    }

    /// Whether the row after `labels` fulfils the condition of an element.
    fn holds(&self, element: usize, rows: &[Row], start: usize, labels: &Labels) -> bool {
        let variable = self.case.elements[element].variable;
        let Some(Condition { left, operator, right }) = &self.case.defines[variable] else { return true };
        let value = |r: &MatchReference| self.value(r, rows, start, labels, Some(variable));
        let right = match right {
            Ok(reference) => value(reference),
            Err(number) => Some(*number),
        };
        let (Some(left), Some(right)) = (value(left), right) else { return false };
        match *operator {
            "<" => left < right,
            "<=" => left <= right,
            "=" => left == right,
            "<>" => left != right,
            ">" => left > right,
            ">=" => left >= right,
            other => panic!("no reference for {other}"),
        }
    }

    fn value(&self, reference: &MatchReference, rows: &[Row], start: usize, labels: &Labels, tested_for: Option<usize>) -> Value3 {
        let of = |variable: &Option<usize>| -> Vec<usize> {
            let variables = labels.iter().map(|l| self.case.elements[*l].variable).chain(tested_for);
            variables.zip(start..).filter(|(v, _)| variable.is_none_or(|wanted| wanted == *v)).map(|(_, row)| row).collect()
        };
        let current = start + labels.len() - usize::from(tested_for.is_none());
        let (row, column) = match reference {
            MatchReference::Current { column } => (Some(current), column),
            MatchReference::First { variable, column, offset } => (of(variable).into_iter().nth(*offset as usize), column),
            MatchReference::Last { variable, column, offset } => (of(variable).into_iter().rev().nth(*offset as usize), column),
            MatchReference::Previous { column, offset } => (current.checked_sub(*offset as usize), column),
            MatchReference::Aggregate { variable, call } => {
                let rows_of = of(variable);
                let values = rows_of.iter().filter_map(|row| number(&rows[*row][V]));
                return match call.function.as_str() {
                    "COUNT" => Some(rows_of.len() as i64),
                    "SUM" => values.reduce(|a, b| a + b),
                    "MAX" => values.max(),
                    other => panic!("no reference for {other}"),
                };
            }
        };
        row.and_then(|row| number(&rows[row][*column]))
    }
}
