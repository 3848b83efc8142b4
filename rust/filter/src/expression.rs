//! An expression as a tree. Its depth is bounded by the parser, so functions over it may call themselves.

use memchr::memmem;

/// Which of the names of a filter a property is.
pub type Slot = usize;

/// A value that stands in an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    Null,
    Boolean(bool),
    /// Compat: whether a property is read as 32 or as 64 bits depends on the size of what it is compared with.
    Integer(i32),
    Long(i64),
    Double(f64),
    Text(Box<str>),
}

/// A comparison by order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// A test of a part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Constant(Constant),
    Property(Slot),
    Negate(Box<Expression>),
    /// A property where a condition should be.
    Flag(Slot),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Equal(Box<[Expression; 2]>),
    IsNull(Box<Expression>),
    Ordered(Order, Box<[Expression; 2]>),
    Text {
        of: Box<Expression>,
        part: Part,
        is_negated: bool,
        search: Box<str>,
    },
    /// The texts are in order, without duplicates.
    Among {
        of: Slot,
        is_negated: bool,
        texts: Box<[Box<str>]>,
    },
}

impl Expression {
    /// Whether it is a condition.
    pub fn is_boolean(&self) -> bool {
        match self {
            Self::Constant(constant) => matches!(constant, Constant::Null | Constant::Boolean(_)),
            Self::Property(_) | Self::Negate(_) => false,
            _ => true,
        }
    }

    /// Whether it may stand beside >, >=, < and <=.
    pub fn has_order(&self) -> bool {
        match self {
            Self::Constant(constant) => {
                matches!(constant, Constant::Integer(_) | Constant::Long(_) | Constant::Double(_))
            }
            other => !other.is_boolean(),
        }
    }
}

impl Part {
    /// Whether a text has it. Bytes will do: of UTF-8 no character begins inside of another.
    pub fn is_in(self, text: &[u8], search: &[u8]) -> bool {
        match self {
            Self::Contains => memmem::find(text, search).is_some(),
            Self::StartsWith => text.starts_with(search),
            Self::EndsWith => text.ends_with(search),
        }
    }
}
