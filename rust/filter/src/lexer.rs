//! Text to tokens. Compat: of all tokens that begin at a place the longest is taken, as `JavaCC` does, and one is looked
//! at only when the parser gets there: what follows a whole expression may be anything.

use crate::error::{FilterError, Place, Problem};
use crate::token::Token;

#[derive(Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// An error at a place of the text.
    pub fn error(&self, offset: usize, problem: Problem) -> FilterError {
        FilterError { place: Place::of(self.text, offset), problem }
    }

    /// The next token and where it begins.
    pub fn next(&mut self) -> Result<(Token<'a>, usize), FilterError> {
        self.skip_blanks()?;
        let start = self.at;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start)) };
        let (token, size) = match first {
            'a'..='z' | 'A'..='Z' | '_' | '$' => {
                let size = rest.bytes().take_while(|&byte| is_name_byte(byte)).count();
                (Token::of_word(&rest[..size]), size)
            }
            '0'..='9' | '.' => self.number(rest)?,
            '\'' => self.quoted(rest)?,
            _ => symbol(rest).ok_or_else(|| self.error(start, Problem::UnknownCharacter(first)))?,
        };
        self.at += size;
        Ok((token, start))
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<(), FilterError> {
        loop {
            let rest = &self.text[self.at..];
            let size = if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                end.ok_or_else(|| self.error(self.at, Problem::UnclosedComment))? + 4
            } else if rest.starts_with("--") {
                // Compat: without a line's end it is no comment but two signs.
                rest.find(['\n', '\r']).map_or(0, |end| end + 1)
            } else {
                rest.bytes().take_while(|byte| b" \t\n\r\x0c".contains(byte)).count()
            };
            if size == 0 {
                return Ok(());
            }
            self.at += size;
        }
    }

    /// `0`, `12`, `12l`, `1.`, `.5`, `1.5e-3`, `1E3`.
    fn number(&self, rest: &'a str) -> Result<(Token<'a>, usize), FilterError> {
        let bytes = rest.as_bytes();
        let whole = digits(bytes);
        let mut size = whole;
        if bytes.get(size) == Some(&b'.') {
            let fraction = digits(&bytes[size + 1..]);
            if whole + fraction == 0 {
                return Err(self.error(self.at, Problem::UnknownCharacter('.')));
            }
            size += 1 + fraction;
        }
        size += exponent(&bytes[size..]);
        if size > whole {
            return Ok((Token::Float(&rest[..size]), size));
        }
        // Compat: no integer but 0 begins with 0, so 007 is three of them; and 0 has no suffix.
        if bytes[0] == b'0' {
            return Ok((Token::Integer(&rest[..1]), 1));
        }
        let suffix = usize::from(matches!(bytes.get(whole), Some(b'l' | b'L')));
        Ok((Token::Integer(&rest[..whole]), whole + suffix))
    }

    fn quoted(&self, rest: &'a str) -> Result<(Token<'a>, usize), FilterError> {
        // Compat: where no quote ends the text, the last doubled one is half an end.
        let mut last_doubled = None;
        let mut from = 1;
        while let Some(end) = rest[from..].find('\'').map(|at| from + at) {
            if !rest[end + 1..].starts_with('\'') {
                return Ok((Token::Text(&rest[1..end]), end + 1));
            }
            last_doubled = Some(end);
            from = end + 2;
        }
        let end = last_doubled.ok_or_else(|| self.error(self.at, Problem::UnclosedText))?;
        Ok((Token::Text(&rest[1..end]), end + 1))
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The size of an exponent; 0 where there is none.
fn exponent(bytes: &[u8]) -> usize {
    let [b'e' | b'E', rest @ ..] = bytes else { return 0 };
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    match digits(&rest[sign..]) {
        0 => 0,
        count => 1 + sign + count,
    }
}

fn symbol(rest: &str) -> Option<(Token<'static>, usize)> {
    let bytes = rest.as_bytes();
    Some(match (bytes[0], bytes.get(1)) {
        (b'<', Some(b'>')) => (Token::NotEqual, 2),
        (b'<', Some(b'=')) => (Token::LessOrEqual, 2),
        (b'<', _) => (Token::Less, 1),
        (b'>', Some(b'=')) => (Token::GreaterOrEqual, 2),
        (b'>', _) => (Token::Greater, 1),
        (b'=', _) => (Token::Equal, 1),
        (b'(', _) => (Token::Open, 1),
        (b')', _) => (Token::Close, 1),
        (b',', _) => (Token::Comma, 1),
        (b'+', _) => (Token::Plus, 1),
        (b'-', _) => (Token::Minus, 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut lexer = Lexer::new(text);
        let next = || match lexer.next() {
            Ok((Token::End, _)) => None,
            Ok((token, start)) => Some(format!("{token}@{start}")),
            Err(error) => Some(error.to_string()),
        };
        std::iter::from_fn(next).take(20).collect()
    }

    #[test]
    fn the_longest_token_is_taken() {
        assert_eq!(tokens("a<>b<=1>=.5e-1"), ["a@0", "<>@1", "b@3", "<=@4", "1@6", ">=@7", ".5e-1@9"]);
        assert_eq!(
            tokens("1e 1.e5 5L 0l 007"),
            ["1@0", "e@1", "1.e5@3", "5@8", "0@11", "l@12", "0@14", "0@15", "7@16"]
        );
        assert_eq!(tokens("noT $a_1 nota"), ["NOT@0", "$a_1@4", "nota@9"]);
    }

    #[test]
    fn comments_are_blanks_and_an_unfinished_line_is_two_signs() {
        assert_eq!(tokens("a /* * ** */ -- b\r\n c"), ["a@0", "c@20"]);
        assert_eq!(tokens("--a"), ["-@0", "-@1", "a@2"]);
    }

    #[test]
    fn a_text_ends_at_a_quote_that_is_not_doubled() {
        assert_eq!(tokens("'it''s' ''"), ["'it''s'@0", "''@8"]);
        assert_eq!(tokens("'a''''b''c")[..1], ["'a''''b'@0"]);
        assert_eq!(tokens("a = 'x")[2], "line 1, column 5: the text that begins here has no end");
    }

    #[test]
    fn what_means_nothing_is_named_with_its_place() {
        assert_eq!(tokens("a\n!= 1")[1], "line 2, column 1: '!' means nothing outside of a text");
        assert_eq!(tokens("é")[0], "line 1, column 1: 'é' means nothing outside of a text");
        assert_eq!(tokens(".")[0], "line 1, column 1: '.' means nothing outside of a text");
        assert_eq!(tokens("/* a")[0], "line 1, column 1: the comment that begins here has no end");
    }
}
