//! Colours of what is being written: keywords, texts, numbers, comments.

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use super::complete::is_keyword;
use super::tokens::{Kind, tokens};

/// Colours tokens, if colours are wanted.
pub(super) struct Colours {
    pub(super) are_on: bool,
}

impl Highlighter for Colours {
    fn highlight(&self, text: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        for token in tokens(text) {
            let word = &text[token.span];
            let style = match token.kind {
                _ if !self.are_on => Style::new(),
                Kind::Word if is_keyword(word) => Style::new().bold(),
                Kind::Text => Color::Green.normal(),
                Kind::Number => Color::Cyan.normal(),
                Kind::Comment => Style::new().dimmed(),
                _ => Style::new(),
            };
            styled.push((style, word.to_string()));
        }
        styled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_stays_what_it_is() {
        let text = "SELECT 'é', 1 -- why\nFROM `größe";
        for are_on in [true, false] {
            let styled = Colours { are_on }.highlight(text, 0);
            assert_eq!(styled.buffer.iter().map(|(_, part)| part.as_str()).collect::<String>(), text);
            let has_style = styled.buffer.iter().any(|(style, _)| *style != Style::new());
            assert_eq!(has_style, are_on);
        }
    }
}
