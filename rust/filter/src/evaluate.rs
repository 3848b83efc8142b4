//! What an expression makes of the properties of a message: true, false, unknown, or not to be evaluated.
//!
//! Compat: a property is a text, and is read as a number of the kind that it is compared with. A text that is no such
//! number ends the evaluation of the whole expression, unless an AND or OR was decided before.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::expression::{Constant, Expression, Order};
use crate::java_numbers::{parse_double, parse_int, parse_long};

/// What an expression, or a part of one, comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    Boolean(bool),
    Integer(i32),
    Long(i64),
    Double(f64),
    /// UTF-8, or what a foreign writer took for it.
    Text(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn of(constant: &'a Constant) -> Self {
        match *constant {
            Constant::Null => Self::Null,
            Constant::Boolean(is_true) => Self::Boolean(is_true),
            Constant::Integer(number) => Self::Integer(number),
            Constant::Long(number) => Self::Long(number),
            Constant::Double(number) => Self::Double(number),
            Constant::Text(ref text) => Self::Text(text.as_bytes()),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "Java compares a long with a double so")]
    fn as_double(self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(number.into()),
            Self::Long(number) => Some(number as f64),
            Self::Double(number) => Some(number),
            _ => None,
        }
    }

    fn as_long(self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(number.into()),
            Self::Long(number) => Some(number),
            _ => None,
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Integer(number) => Self::Integer(number.wrapping_neg()),
            Self::Long(number) => Self::Long(number.wrapping_neg()),
            Self::Double(number) => Self::Double(-number),
            _ => Self::Null,
        }
    }
}

/// Two values that can't be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incomparable;

/// True or false; `None` is SQL's unknown.
type Truth = Result<Option<bool>, Incomparable>;

/// The properties that an expression looks at, by slot.
#[derive(Debug)]
pub struct Evaluation<'a> {
    pub slots: &'a [Option<&'a [u8]>],
}

impl Evaluation<'_> {
    pub fn truth(&self, expression: &Expression) -> Truth {
        match expression {
            Expression::Flag(slot) => Ok(self.slots[*slot].map(|_| false)),
            Expression::Not(inner) => Ok(self.truth(inner)?.map(|is_true| !is_true)),
            Expression::All(conditions) => self.decided_by(false, conditions),
            Expression::Any(conditions) => self.decided_by(true, conditions),
            Expression::Equal(pair) => equal(self.value(&pair[0])?, self.value(&pair[1])?),
            Expression::IsNull(inner) => Ok(Some(self.value(inner)? == Value::Null)),
            Expression::Ordered(wanted, pair) => match (self.value(&pair[0])?, self.value(&pair[1])?) {
                (Value::Null, _) | (_, Value::Null) => Ok(None),
                (left, right) => Ok(Some(wanted.holds(order(left, right)?))),
            },
            Expression::Text { of, part, is_negated, search } => {
                // Compat: no text has an empty part, and none is without it either; nor does null or a number.
                let is_tested = !search.is_empty();
                Ok(Some(match if is_tested { self.value(of)? } else { Value::Null } {
                    Value::Text(text) => part.is_in(&repaired(text), search.as_bytes()) != *is_negated,
                    _ => false,
                }))
            }
            Expression::Among { of, is_negated, texts } => Ok(self.slots[*of].map(|text| {
                let text = repaired(text);
                texts.binary_search_by(|wanted| wanted.as_bytes().cmp(&text)).is_ok() != *is_negated
            })),
            Expression::Constant(Constant::Boolean(is_true)) => Ok(Some(*is_true)),
            Expression::Constant(_) | Expression::Property(_) | Expression::Negate(_) => Ok(None),
        }
    }

    fn value<'a>(&'a self, expression: &'a Expression) -> Result<Value<'a>, Incomparable> {
        Ok(match expression {
            Expression::Constant(constant) => Value::of(constant),
            Expression::Property(slot) => self.slots[*slot].map_or(Value::Null, Value::Text),
            Expression::Negate(inner) => self.value(inner)?.negated(),
            condition => self.truth(condition)?.map_or(Value::Null, Value::Boolean),
        })
    }

    /// AND is decided by the first that is false, OR by the first that is true.
    fn decided_by(&self, decisive: bool, conditions: &[Expression]) -> Truth {
        let mut outcome = Some(!decisive);
        for condition in conditions {
            match self.truth(condition)? {
                Some(is_true) if is_true == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => outcome = None,
            }
        }
        Ok(outcome)
    }
}

impl Order {
    fn holds(self, found: Ordering) -> bool {
        match self {
            Self::Greater => found.is_gt(),
            Self::GreaterOrEqual => found.is_ge(),
            Self::Less => found.is_lt(),
            Self::LessOrEqual => found.is_le(),
        }
    }
}

/// Compat: two nulls are equal, and null on the left of something is unknown, but on the right it is different.
fn equal(left: Value<'_>, right: Value<'_>) -> Truth {
    Ok(Some(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) => return Ok(None),
        (Value::Text(left), Value::Text(right)) => is_same(left, right),
        (Value::Boolean(left), Value::Boolean(right)) => left == right,
        // Compat: TRUE = flag is an error inside Java, flag = TRUE is not.
        (Value::Boolean(_), Value::Text(_)) => return Err(Incomparable),
        (Value::Text(text), Value::Boolean(right)) => text.eq_ignore_ascii_case(b"true") == right,
        (_, Value::Null | Value::Boolean(_)) | (Value::Boolean(_), _) => false,
        (left, right) => order(left, right)?.is_eq(),
    }))
}

/// The order of two values that are texts or numbers.
pub fn order(left: Value<'_>, right: Value<'_>) -> Result<Ordering, Incomparable> {
    let order = match (left, right) {
        (Value::Text(left), Value::Text(right)) => parse_double(left).zip(parse_double(right)).map(total),
        (Value::Text(text), number) => as_kind_of(text, number).and_then(|value| of_numbers(value, number)),
        (number, Value::Text(text)) => as_kind_of(text, number).and_then(|value| of_numbers(number, value)),
        numbers => of_numbers(numbers.0, numbers.1),
    };
    order.ok_or(Incomparable)
}

fn of_numbers(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left.as_long(), right.as_long()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_double().zip(right.as_double()).map(total),
    }
}

/// Java's order of doubles: -0.0 before 0.0, and NaN after all others.
fn total((left, right): (f64, f64)) -> Ordering {
    left.total_cmp(&right)
}

/// A text as a number of the same kind as another.
fn as_kind_of<'a>(text: &[u8], number: Value<'_>) -> Option<Value<'a>> {
    match number {
        Value::Integer(_) => parse_int(text).map(Value::Integer),
        Value::Long(_) => parse_long(text).map(Value::Long),
        Value::Double(_) => parse_double(text).map(Value::Double),
        _ => None,
    }
}

/// Whether two texts are the same to Java, which reads what is no UTF-8 as U+FFFD.
fn is_same(left: &[u8], right: &[u8]) -> bool {
    left == right || (!left.is_ascii() && !right.is_ascii() && repaired(left) == repaired(right))
}

fn repaired(text: &[u8]) -> Cow<'_, [u8]> {
    // Nearly all texts are ASCII, which is seen sooner than that they are UTF-8.
    if text.is_ascii() || std::str::from_utf8(text).is_ok() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(String::from_utf8_lossy(text).into_owned().into_bytes())
    }
}
