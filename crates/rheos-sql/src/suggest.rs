//! Finds the name that was probably meant.

/// `did you mean 'x'?` for the candidate nearest to `wrong`, if one is near enough.
pub(crate) fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, candidates).map(|best| format!("did you mean '{best}'?"))
}

/// The candidate nearest to `wrong` by edit distance, case aside; at most a third of the letters may differ.
pub(crate) fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let allowed = (wrong.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_far_ones_are_not() {
        assert_eq!(nearest("auctoin", ["bidder", "auction"]), Some("auction"));
        assert_eq!(nearest("PRICE", ["price"]), Some("price"));
        assert_eq!(nearest("x", ["auction"]), None);
    }
}
