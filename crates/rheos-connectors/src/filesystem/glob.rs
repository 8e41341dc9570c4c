//! Patterns of paths: `*` and `?` within a name, `**` for any number of folders.

/// Whether a path has characters that mean something in a pattern.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// Whether a name matches one part of a pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go back to: after the last star, one character further in the name.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    p = after;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (pattern, name) in [("*", ""), ("*.csv", "a.csv"), ("a*b*c", "aXbbYc"), ("?.csv", "é.csv"), ("a", "a"), ("*a*a*", "baab")] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.csv", "a.csv.gz"), ("?", ""), ("a*b", "ab_"), ("", "x"), ("a?", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
