//! Tokens to an expression, by the grammar of Apache's `SelectorParser`.
//!
//! ```text
//!   any        := all ( OR all )*
//!   all        := equality ( AND equality )*
//!   equality   := comparison ( ( = | <> ) comparison | IS [NOT] NULL )*
//!   comparison := unary ( ( > | >= | < | <= ) unary | [NOT] BETWEEN unary AND unary | [NOT] IN ( text, ... )
//!                       | [NOT] ( CONTAINS | STARTSWITH | ENDSWITH ) text )*
//!   unary      := ( + | - | NOT ) unary | text | number | TRUE | FALSE | NULL | name | ( any )
//! ```
//! Compat: `NOT` binds closer than any comparison, and what follows a whole expression is ignored.

use std::cmp::Ordering;

use crate::error::{FilterError, Problem};
use crate::evaluate::{Value, order};
use crate::expression::{Constant, Expression, Order, Part};
use crate::lexer::Lexer;
use crate::print::Printed;
use crate::token::Token;
use crate::{DEPTH_MAX, NAMES_MAX, OPERANDS_MAX};

type Result<T> = std::result::Result<T, FilterError>;

/// What a text was parsed to.
#[derive(Debug)]
pub struct Parsed<'a> {
    pub root: Expression,
    pub names: Vec<&'a str>,
    pub operand_count: usize,
    /// Where the text begins that was not looked at any more.
    pub ignored_from: Option<usize>,
}

/// Parses a text.
pub fn parse(text: &str) -> Result<Parsed<'_>> {
    let mut lexer = Lexer::new(text);
    let (token, start) = lexer.next()?;
    let mut parser = Parser { lexer, token, start, names: Vec::new(), operand_count: 0, depth: 0 };
    let operand = parser.any()?;
    let root = parser.condition(operand)?.expression;
    let ignored_from = (parser.token != Token::End).then_some(parser.start);
    Ok(Parsed { root, names: parser.names, operand_count: parser.operand_count, ignored_from })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token that comes next, and where it begins.
    token: Token<'a>,
    start: usize,
    names: Vec<&'a str>,
    operand_count: usize,
    /// How many calls of `unary` lie above.
    depth: usize,
}

/// A part of the tree, where it stands in the text, and how deep it is.
struct Operand {
    expression: Expression,
    start: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Operand> {
        let first = self.all()?;
        self.joined(first, Token::Or, Self::all, Expression::Any)
    }

    fn all(&mut self) -> Result<Operand> {
        let first = self.equality()?;
        self.joined(first, Token::And, Self::equality, Expression::All)
    }

    fn joined(
        &mut self,
        first: Operand,
        joint: Token<'_>,
        next: fn(&mut Self) -> Result<Operand>,
        join: fn(Vec<Expression>) -> Expression,
    ) -> Result<Operand> {
        if self.token != joint {
            return Ok(first);
        }
        let Operand { expression, start, mut depth } = self.condition(first)?;
        let mut conditions = vec![expression];
        while self.token == joint {
            self.advance()?;
            let operand = next(self)?;
            depth = depth.max(operand.depth);
            conditions.push(self.condition(operand)?.expression);
        }
        self.deeper(join(conditions), start, depth)
    }

    fn equality(&mut self) -> Result<Operand> {
        let mut left = self.comparison()?;
        loop {
            left = match self.token {
                Token::Equal => self.equal(left)?,
                Token::NotEqual => {
                    let test = self.equal(left)?;
                    self.wrapped(test, Expression::Not)?
                }
                Token::Is => self.null_test(left)?,
                _ => return Ok(left),
            };
        }
    }

    fn equal(&mut self, left: Operand) -> Result<Operand> {
        self.advance()?;
        let right = self.comparison()?;
        self.check_equality(&left, &right)?;
        self.pair(left, right, Expression::Equal)
    }

    fn null_test(&mut self, of: Operand) -> Result<Operand> {
        self.advance()?;
        let is_negated = self.token == Token::Not;
        if is_negated {
            self.advance()?;
        }
        self.expect(Token::Null, if is_negated { "NULL" } else { "NULL or NOT NULL" })?;
        let test = self.wrapped(of, Expression::IsNull)?;
        if is_negated { self.wrapped(test, Expression::Not) } else { Ok(test) }
    }

    fn comparison(&mut self) -> Result<Operand> {
        let mut left = self.unary()?;
        loop {
            left = match self.token {
                Token::Greater => self.ordered(left, Order::Greater)?,
                Token::GreaterOrEqual => self.ordered(left, Order::GreaterOrEqual)?,
                Token::Less => self.ordered(left, Order::Less)?,
                Token::LessOrEqual => self.ordered(left, Order::LessOrEqual)?,
                Token::Not => {
                    self.advance()?;
                    self.test(left, true)?
                }
                Token::Between | Token::In | Token::Contains | Token::StartsWith | Token::EndsWith => {
                    self.test(left, false)?
                }
                _ => return Ok(left),
            };
        }
    }

    /// A test that may stand behind NOT.
    fn test(&mut self, of: Operand, is_negated: bool) -> Result<Operand> {
        match self.token {
            Token::Between => self.between(of, is_negated),
            Token::In => self.among(&of, is_negated),
            Token::Contains => self.text_test(of, Part::Contains, is_negated),
            Token::StartsWith => self.text_test(of, Part::StartsWith, is_negated),
            Token::EndsWith => self.text_test(of, Part::EndsWith, is_negated),
            _ => Err(self.unexpected("BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH")),
        }
    }

    fn ordered(&mut self, left: Operand, order: Order) -> Result<Operand> {
        self.advance()?;
        let right = self.unary()?;
        self.check_order(&left)?;
        self.check_order(&right)?;
        self.pair(left, right, |pair| Expression::Ordered(order, pair))
    }

    fn between(&mut self, of: Operand, is_negated: bool) -> Result<Operand> {
        self.advance()?;
        let low = self.unary()?;
        self.expect(Token::And, "AND")?;
        let high = self.unary()?;
        for operand in [&of, &low, &high] {
            self.check_order(operand)?;
        }
        // Compat: a negative number is an operation on a positive one, so such a range is not looked at.
        if let (false, Expression::Constant(first), Expression::Constant(last)) =
            (is_negated, &low.expression, &high.expression)
            && order(Value::of(first), Value::of(last)) == Ok(Ordering::Greater)
        {
            let range = Problem::EmptyRange(self.shown(&low.expression), self.shown(&high.expression));
            return Err(self.lexer.error(low.start, range));
        }
        let start = of.start;
        let copy = Operand { expression: of.expression.clone(), ..of };
        let (above, below, join): (_, _, fn(Vec<Expression>) -> Expression) = if is_negated {
            (Order::Less, Order::Greater, Expression::Any)
        } else {
            (Order::GreaterOrEqual, Order::LessOrEqual, Expression::All)
        };
        let lower = self.pair(of, low, |pair| Expression::Ordered(above, pair))?;
        let upper = self.pair(copy, high, |pair| Expression::Ordered(below, pair))?;
        let depth = lower.depth.max(upper.depth);
        self.deeper(join(vec![lower.expression, upper.expression]), start, depth)
    }

    fn among(&mut self, of: &Operand, is_negated: bool) -> Result<Operand> {
        self.advance()?;
        self.expect(Token::Open, "(")?;
        let mut texts = vec![self.text()?];
        while self.token == Token::Comma {
            self.advance()?;
            texts.push(self.text()?);
        }
        self.expect(Token::Close, ", or )")?;
        let Expression::Property(slot) = of.expression else {
            let found = self.shown(&of.expression);
            return Err(self.lexer.error(of.start, Problem::NotAProperty(found)));
        };
        texts.sort_unstable();
        texts.dedup();
        let expression = Expression::Among { of: slot, is_negated, texts: texts.into() };
        self.deeper(expression, of.start, of.depth)
    }

    fn text_test(&mut self, of: Operand, part: Part, is_negated: bool) -> Result<Operand> {
        self.advance()?;
        let search = self.text()?;
        self.wrapped(of, |of| Expression::Text { of, part, is_negated, search })
    }

    fn unary(&mut self) -> Result<Operand> {
        if self.depth >= DEPTH_MAX {
            return Err(self.too_deep(self.start));
        }
        self.depth += 1;
        let start = self.start;
        let operand = match self.token {
            Token::Plus => {
                self.advance()?;
                self.unary()?
            }
            Token::Minus => {
                self.advance()?;
                let operand = self.unary()?;
                self.wrapped(operand, Expression::Negate)?
            }
            Token::Not => {
                self.advance()?;
                let operand = self.unary()?;
                let condition = self.condition(operand)?;
                self.wrapped(condition, Expression::Not)?
            }
            Token::Open => {
                self.advance()?;
                let operand = self.any()?;
                self.expect(Token::Close, "an operator or )")?;
                operand
            }
            _ => Operand { expression: self.primary()?, start, depth: 1 },
        };
        self.depth -= 1;
        Ok(Operand { start, ..operand })
    }

    fn primary(&mut self) -> Result<Expression> {
        self.operand_count += 1;
        if self.operand_count > OPERANDS_MAX {
            return Err(self.lexer.error(self.start, Problem::TooManyOperands { max: OPERANDS_MAX }));
        }
        let constant = match self.token {
            Token::Name(name) => return self.property(name),
            Token::Text(_) => return self.text().map(|text| Expression::Constant(Constant::Text(text))),
            Token::Integer(digits) => self.integer(digits)?,
            Token::Float(digits) => self.float(digits)?,
            Token::True => Constant::Boolean(true),
            Token::False => Constant::Boolean(false),
            Token::Null => Constant::Null,
            _ => return Err(self.unexpected("a property, a value, NOT or (")),
        };
        self.advance()?;
        Ok(Expression::Constant(constant))
    }

    fn property(&mut self, name: &'a str) -> Result<Expression> {
        let slot = self.names.iter().position(|known| *known == name).unwrap_or(self.names.len());
        if slot == NAMES_MAX {
            return Err(self.lexer.error(self.start, Problem::TooManyNames { max: NAMES_MAX }));
        }
        if slot == self.names.len() {
            self.names.push(name);
        }
        self.advance()?;
        Ok(Expression::Property(slot))
    }

    fn integer(&self, digits: &str) -> Result<Constant> {
        let too_large = || Problem::IntegerTooLarge(Token::Integer(digits).to_string());
        let number: i64 = digits.parse().map_err(|_| self.lexer.error(self.start, too_large()))?;
        Ok(i32::try_from(number).map_or(Constant::Long(number), Constant::Integer))
    }

    fn float(&self, digits: &str) -> Result<Constant> {
        let number: f64 = digits.parse().unwrap_or(f64::INFINITY);
        // Compat: 0.0 is refused, as Java's least double is the least positive one.
        if number.is_finite() && number > 0.0 {
            return Ok(Constant::Double(number));
        }
        let problem = Problem::FloatOutOfRange(Token::Float(digits).to_string());
        Err(self.lexer.error(self.start, problem))
    }

    fn text(&mut self) -> Result<Box<str>> {
        let Token::Text(raw) = self.token else { return Err(self.unexpected("a text in single quotes")) };
        self.advance()?;
        Ok(raw.replace("''", "'").into())
    }

    /// An operand as a condition.
    fn condition(&self, operand: Operand) -> Result<Operand> {
        match operand.expression {
            Expression::Property(slot) => Ok(Operand { expression: Expression::Flag(slot), ..operand }),
            ref expression if expression.is_boolean() => Ok(operand),
            ref other => Err(self.lexer.error(operand.start, Problem::NotBoolean(self.shown(other)))),
        }
    }

    fn check_equality(&self, left: &Operand, right: &Operand) -> Result<()> {
        for operand in [left, right] {
            if operand.expression == Expression::Constant(Constant::Null) {
                return Err(self.lexer.error(operand.start, Problem::NullCompared));
            }
        }
        // Compat: on the left only.
        if let (Expression::Constant(Constant::Boolean(_)), Expression::Constant(other)) =
            (&left.expression, &right.expression)
            && !matches!(other, Constant::Boolean(_))
        {
            let problem =
                Problem::BooleanCompared(self.shown(&left.expression), self.shown(&right.expression));
            return Err(self.lexer.error(left.start, problem));
        }
        Ok(())
    }

    fn check_order(&self, operand: &Operand) -> Result<()> {
        if operand.expression.has_order() {
            return Ok(());
        }
        let found = self.shown(&operand.expression);
        Err(self.lexer.error(operand.start, Problem::NotOrdered(found)))
    }

    fn pair(
        &self,
        left: Operand,
        right: Operand,
        join: impl FnOnce(Box<[Expression; 2]>) -> Expression,
    ) -> Result<Operand> {
        let depth = left.depth.max(right.depth);
        self.deeper(join(Box::new([left.expression, right.expression])), left.start, depth)
    }

    fn wrapped(&self, inner: Operand, wrap: impl FnOnce(Box<Expression>) -> Expression) -> Result<Operand> {
        self.deeper(wrap(Box::new(inner.expression)), inner.start, inner.depth)
    }

    /// An expression around others of this depth.
    fn deeper(&self, expression: Expression, start: usize, depth: usize) -> Result<Operand> {
        if depth >= DEPTH_MAX {
            return Err(self.too_deep(start));
        }
        Ok(Operand { expression, start, depth: depth + 1 })
    }

    fn too_deep(&self, start: usize) -> FilterError {
        self.lexer.error(start, Problem::TooDeep { max: DEPTH_MAX })
    }

    fn expect(&mut self, token: Token<'_>, expected: &'static str) -> Result<()> {
        if self.token != token {
            return Err(self.unexpected(expected));
        }
        self.advance()
    }

    fn unexpected(&self, expected: &'static str) -> FilterError {
        self.lexer.error(self.start, Problem::Unexpected { expected, found: self.token.to_string() })
    }

    fn advance(&mut self) -> Result<()> {
        (self.token, self.start) = self.lexer.next()?;
        Ok(())
    }

    /// An expression as errors show it.
    fn shown(&self, expression: &Expression) -> String {
        Printed { expression, names: &self.names }.shortened()
    }
}
