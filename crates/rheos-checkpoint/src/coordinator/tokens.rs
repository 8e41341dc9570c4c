//! Sets of commit tokens, ordered by sink and epoch.

use std::collections::BTreeMap;

use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;

/// Tokens, each once. Those of a sink come in the order of their epochs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TokenSet {
    tokens: BTreeMap<(String, Epoch), Vec<CommitToken>>,
}

impl TokenSet {
    /// Adds a token; false if it was in it.
    pub(crate) fn insert(&mut self, token: &CommitToken) -> bool {
        let same = self.tokens.entry((token.sink.clone(), token.epoch)).or_default();
        let new = !same.contains(token);
        if new {
            same.push(token.clone());
        }
        new
    }

    pub(crate) fn contains(&self, token: &CommitToken) -> bool {
        self.tokens.get(&(token.sink.clone(), token.epoch)).is_some_and(|same| same.contains(token))
    }

    pub(crate) fn extend<'a>(&mut self, tokens: impl IntoIterator<Item = &'a CommitToken>) {
        for token in tokens {
            self.insert(token);
        }
    }

    pub(crate) fn remove<'a>(&mut self, tokens: impl IntoIterator<Item = &'a CommitToken>) {
        for token in tokens {
            if let Some(same) = self.tokens.get_mut(&(token.sink.clone(), token.epoch)) {
                same.retain(|t| t != token);
            }
        }
        self.tokens.retain(|_, same| !same.is_empty());
    }

    /// Forgets tokens of epochs below `epoch`.
    pub(crate) fn forget_below(&mut self, epoch: Epoch) {
        self.tokens.retain(|(_, e), _| *e >= epoch);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CommitToken> {
        self.tokens.values().flatten()
    }

    pub(crate) fn to_vec(&self) -> Vec<CommitToken> {
        self.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.tokens.clear();
    }
}
