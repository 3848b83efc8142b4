//! What an expression is made of.

use std::fmt;

/// A token. Texts keep their doubled quotes, and lie between the outer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    Name(&'a str),
    Integer(&'a str),
    Float(&'a str),
    Text(&'a str),
    Not,
    And,
    Or,
    Between,
    In,
    True,
    False,
    Null,
    Is,
    Contains,
    StartsWith,
    EndsWith,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    End,
}

const KEYWORDS: [(&str, Token<'static>); 12] = [
    ("NOT", Token::Not),
    ("AND", Token::And),
    ("OR", Token::Or),
    ("BETWEEN", Token::Between),
    ("IN", Token::In),
    ("TRUE", Token::True),
    ("FALSE", Token::False),
    ("NULL", Token::Null),
    ("IS", Token::Is),
    ("CONTAINS", Token::Contains),
    ("STARTSWITH", Token::StartsWith),
    ("ENDSWITH", Token::EndsWith),
];

impl<'a> Token<'a> {
    /// The keyword that a word is in capitals or small letters, else a name.
    pub fn of_word(word: &'a str) -> Self {
        let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(word));
        keyword.map_or(Self::Name(word), |&(_, token)| token)
    }
}

/// Longest part of an expression that an error repeats, in characters.
const QUOTED_LENGTH_MAX: usize = 40;

impl fmt::Display for Token<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::Name(text) | Self::Integer(text) | Self::Float(text) | Self::Text(text) => text,
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::End => return out.write_str("the end"),
            keyword => {
                KEYWORDS.iter().find(|(_, token)| *token == keyword).map_or("", |(keyword, _)| *keyword)
            }
        };
        let cut = text.char_indices().nth(QUOTED_LENGTH_MAX).map_or(text.len(), |(at, _)| at);
        let more = if cut < text.len() { "…" } else { "" };
        let text = &text[..cut];
        if matches!(self, Self::Text(_)) {
            write!(out, "'{text}{more}'")
        } else {
            write!(out, "{text}{more}")
        }
    }
}
