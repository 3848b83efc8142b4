//! A filter: an expression that is ready to be asked.

use std::fmt;

use escrowmq_wire::Properties;

use crate::error::{FilterError, Place, Problem};
use crate::evaluate::Evaluation;
use crate::expression::Expression;
use crate::names::Names;
use crate::parser::parse;
use crate::print::Printed;
use crate::{NAMES_MAX, SIZE_MAX_BYTES};

/// Names that an expression usually has at most.
const NAMES_FEW: usize = 8;

/// Tells by its properties whether a message is wanted. Two are equal if their texts are.
#[derive(Debug, Clone)]
pub struct PropertyFilter {
    text: Box<str>,
    root: Expression,
    names: Names,
    operand_count: usize,
    ignored_from: Option<usize>,
}

impl PropertyFilter {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Where it is none, and what was expected there; or that it is too large.
    pub fn compile(text: &str) -> Result<Self, FilterError> {
        if text.len() > SIZE_MAX_BYTES {
            let problem = Problem::TooLong { found: text.len(), max: SIZE_MAX_BYTES };
            return Err(FilterError { place: Place::of(text, 0), problem });
        }
        let parsed = parse(text)?;
        Ok(Self {
            text: text.into(),
            names: Names::new(&parsed.names),
            root: parsed.root,
            operand_count: parsed.operand_count,
            ignored_from: parsed.ignored_from,
        })
    }

    /// Whether it wants a message with these properties. What is unknown or can't be evaluated is not wanted.
    #[must_use]
    pub fn matches(&self, properties: Properties<'_>) -> bool {
        // Most expressions look at few properties, and clearing room for many takes as long as evaluating one.
        if self.names.as_slice().len() <= NAMES_FEW {
            self.matches_in(properties, &mut [None; NAMES_FEW])
        } else {
            self.matches_in(properties, &mut [None; NAMES_MAX])
        }
    }

    fn matches_in<'a>(&self, properties: Properties<'a>, slots: &mut [Option<&'a [u8]>]) -> bool {
        for pair in properties.iter_pieces() {
            if let Some((slot, value)) = self.names.find(pair) {
                // Of two pairs with one name the later wins.
                slots[slot] = Some(value);
            }
        }
        Evaluation { slots }.truth(&self.root) == Ok(Some(true))
    }

    /// How many constants and properties it has, each of which may have to be looked at for a message.
    #[must_use]
    pub fn operand_count(&self) -> usize {
        self.operand_count
    }

    /// Where the text goes on behind the expression, which means nothing. Compat: Apache does not refuse it.
    #[must_use]
    pub fn ignored_from(&self) -> Option<Place> {
        self.ignored_from.map(|offset| Place::of(&self.text, offset))
    }

    /// The text that it was compiled from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for PropertyFilter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PropertyFilter {}

/// The expression as it was understood: with all its parentheses, and without what was ignored.
impl fmt::Display for PropertyFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printed { expression: &self.root, names: self.names.as_slice() }.fmt(out)
    }
}
