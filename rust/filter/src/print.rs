//! An expression as text that is parsed to the same again.

use std::fmt;

use crate::expression::{Constant, Expression, Order, Part};

/// An expression and the names of its properties.
pub struct Printed<'a, N> {
    pub expression: &'a Expression,
    pub names: &'a [N],
}

/// Longest expression that an error repeats, in characters.
const SHORTENED_LENGTH_MAX: usize = 60;

impl<'a, N: AsRef<str>> Printed<'a, N> {
    fn inner(&self, expression: &'a Expression) -> Self {
        Self { expression, names: self.names }
    }

    /// The beginning of the text.
    pub fn shortened(&self) -> String {
        let text = self.to_string();
        match text.char_indices().nth(SHORTENED_LENGTH_MAX) {
            Some((cut, _)) => format!("{}…", &text[..cut]),
            None => text,
        }
    }

    fn joined(&self, out: &mut fmt::Formatter<'_>, joint: &str, parts: &'a [Expression]) -> fmt::Result {
        for (index, part) in parts.iter().enumerate() {
            let before = if index == 0 { "(" } else { joint };
            write!(out, "{before}{}", self.inner(part))?;
        }
        out.write_str(")")
    }
}

impl<N: AsRef<str>> fmt::Display for Printed<'_, N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expression {
            Expression::Constant(constant) => constant.fmt(out),
            Expression::Property(slot) | Expression::Flag(slot) => out.write_str(self.names[*slot].as_ref()),
            // The blank keeps two signs from being a comment.
            Expression::Negate(inner) => write!(out, "(- {})", self.inner(inner)),
            Expression::Not(inner) => write!(out, "(NOT {})", self.inner(inner)),
            Expression::All(conditions) => self.joined(out, " AND ", conditions),
            Expression::Any(conditions) => self.joined(out, " OR ", conditions),
            Expression::Equal(pair) => self.joined(out, " = ", &**pair),
            Expression::IsNull(inner) => write!(out, "({} IS NULL)", self.inner(inner)),
            Expression::Ordered(order, pair) => self.joined(out, order.sign(), &**pair),
            Expression::Text { of, part, is_negated, search } => {
                write!(out, "({}{} {} {})", self.inner(of), not(*is_negated), part.keyword(), Quoted(search))
            }
            Expression::Among { of, is_negated, texts } => {
                write!(out, "({}{} IN ", self.names[*of].as_ref(), not(*is_negated))?;
                for (index, text) in texts.iter().enumerate() {
                    write!(out, "{}{}", if index == 0 { "(" } else { ", " }, Quoted(text))?;
                }
                out.write_str("))")
            }
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("NULL"),
            Self::Boolean(true) => out.write_str("TRUE"),
            Self::Boolean(false) => out.write_str("FALSE"),
            Self::Integer(number) => number.fmt(out),
            Self::Long(number) => number.fmt(out),
            // With a point or an exponent, so that it stays a double.
            Self::Double(number) => write!(out, "{number:?}"),
            Self::Text(text) => Quoted(text).fmt(out),
        }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "'{}'", self.0.replace('\'', "''"))
    }
}

fn not(is_negated: bool) -> &'static str {
    if is_negated { " NOT" } else { "" }
}

impl Order {
    fn sign(self) -> &'static str {
        match self {
            Self::Greater => " > ",
            Self::GreaterOrEqual => " >= ",
            Self::Less => " < ",
            Self::LessOrEqual => " <= ",
        }
    }
}

impl Part {
    fn keyword(self) -> &'static str {
        match self {
            Self::Contains => "CONTAINS",
            Self::StartsWith => "STARTSWITH",
            Self::EndsWith => "ENDSWITH",
        }
    }
}
