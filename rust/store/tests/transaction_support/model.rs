//! Transactions as a plain list that is searched from end to end: what the index must agree with.

use escrowmq_store::Receipt;
use escrowmq_store::transaction_index::{Transaction, TransactionState};

use super::rig::View;
use super::step::{GROUPS, IDS, TOPIC, Who};

#[derive(Debug, Clone)]
struct Copy {
    half_offset: u64,
    log_offset: u64,
    store_ms: i64,
    is_live: bool,
}

#[derive(Debug, Clone)]
struct Decision {
    number: usize,
    state: TransactionState,
    ms: Option<i64>,
    by: Option<String>,
    end: u64,
    final_log_offset: Option<u64>,
}

#[derive(Debug, Clone)]
struct Known {
    who: Who,
    root: (u64, i64),
    checks: u32,
    copies: Vec<Copy>,
    decision: Option<Decision>,
}

/// Every transaction in the order in which it was first seen.
#[derive(Debug, Default)]
pub struct Model {
    known: Vec<Known>,
    decisions: usize,
    contradictions: u64,
    pub ignored: u64,
}

impl Model {
    pub fn prepare(&mut self, who: Who, root: Option<(u64, i64)>, checks: u32, receipt: &Receipt) {
        let root = root.unwrap_or((receipt.log_offset.0, receipt.store_timestamp_ms));
        self.known.push(Known { who, root, checks, copies: vec![copy(receipt)], decision: None });
    }

    pub fn apache_copy(&mut self, who: Who, checks: u32, receipt: &Receipt) {
        let decided = || {
            let same = self.known.iter().enumerate().filter(|(_, one)| one.who == who);
            same.max_by_key(|(_, one)| one.decision.as_ref().map(|decision| decision.number))
                .map(|(at, _)| at)
        };
        let may_have_copies = |at: &usize| !self.is_discarded(*at);
        match self.newest_pending(who).or_else(decided).filter(may_have_copies) {
            Some(at) => self.known[at].add(checks, receipt),
            None => self.prepare(who, None, checks, receipt),
        }
    }

    pub fn our_copy(&mut self, who: Who, root: (u64, i64), checks: u32, receipt: &Receipt) {
        match self.by_root(root.0) {
            // What was discarded was resumed since, by somebody who left our root where it was.
            Some(at) if self.known[at].who == who && self.is_discarded(at) => {
                if checks >= 1 {
                    self.apache_copy(who, checks, receipt);
                } else {
                    self.prepare(who, None, checks, receipt);
                }
            }
            Some(at) if self.known[at].who == who => self.known[at].add(checks, receipt),
            Some(_) => self.prepare(who, None, checks, receipt),
            None => self.prepare(who, Some(root), checks, receipt),
        }
    }

    fn is_discarded(&self, at: usize) -> bool {
        self.known[at].decision.as_ref().is_some_and(|one| one.state == TransactionState::Discarded)
    }

    pub fn commit(&mut self, half_log_offset: u64, receipt: &Receipt) {
        let names_it = |one: &Known| one.copies.iter().any(|copy| copy.log_offset == half_log_offset);
        let Some(at) = self.known.iter().position(names_it) else { return };
        match &mut self.known[at].decision {
            None => {
                self.decide(at, TransactionState::Committed, None, receipt);
                self.set_final(at, receipt);
            }
            Some(decision) if decision.state == TransactionState::Committed => {
                if decision.final_log_offset.is_none() {
                    self.set_final(at, receipt);
                }
            }
            Some(_) => self.contradictions += 1,
        }
    }

    pub fn apache_op(&mut self, half: u64, receipt: &Receipt) {
        let Some((at, was_live)) = self.mark(half) else { return };
        let one = &mut self.known[at];
        match &mut one.decision {
            None if one.copies.last().is_some_and(|newest| newest.half_offset == half) => {
                self.decide(at, TransactionState::RolledBack, None, receipt);
            }
            Some(decision) if was_live => decision.end = receipt.end_offset().0,
            _ => {}
        }
    }

    pub fn our_op(&mut self, state: Option<TransactionState>, half: u64, receipt: &Receipt) {
        let (Some((at, was_live)), Some(state)) = (self.mark(half), state) else { return };
        match &mut self.known[at].decision {
            None => self.decide(at, state, Some("somebody"), receipt),
            Some(decision) if decision.state == state => {
                if was_live {
                    decision.end = receipt.end_offset().0;
                    decision.by = Some("somebody".to_owned());
                }
            }
            Some(_) => self.contradictions += 1,
        }
    }

    pub fn discard(&mut self, at: Option<usize>, receipt: &Receipt) {
        let Some(at) = at else { return };
        match &self.known[at].decision {
            None => self.decide(at, TransactionState::Discarded, None, receipt),
            Some(decision) if decision.state == TransactionState::Discarded => {}
            Some(_) => self.contradictions += 1,
        }
    }

    pub fn close_before(&mut self, half: u64) -> usize {
        let is_before = |one: &Known| one.decision.is_none() && one.newest().half_offset < half;
        let mut closed: Vec<usize> = (0..self.known.len()).filter(|at| is_before(&self.known[*at])).collect();
        closed.sort_by_key(|at| self.known[*at].newest().half_offset);
        for at in &closed {
            self.decisions += 1;
            let (number, state) = (self.decisions, TransactionState::Closed);
            let decision = Decision { number, state, ms: None, by: None, end: 0, final_log_offset: None };
            self.known[*at].decision = Some(decision);
        }
        closed.len()
    }

    /// Forgets from the earliest decision on, up to the first that is not old.
    pub fn forget_decided_before(&mut self, ms: i64) -> usize {
        let mut decided: Vec<Known> =
            self.known.iter().filter(|one| one.decision.is_some()).cloned().collect();
        decided.sort_by_key(Known::number);
        let ended_ms =
            |one: &Known| one.decision.as_ref().and_then(|one| one.ms).unwrap_or(one.newest().store_ms);
        let old = decided.iter().take_while(|one| ended_ms(one) < ms).filter(|one| !one.is_unmarked());
        let numbers: Vec<Option<usize>> = old.map(Known::number).collect();
        let before = self.known.len();
        self.known.retain(|one| one.decision.is_none() || !numbers.contains(&one.number()));
        before - self.known.len()
    }

    /// Who began the nth transaction, and where.
    pub fn nth(&self, nth: usize) -> Option<(Who, u64, i64)> {
        self.known.get(nth).map(|one| (one.who, one.root.0, one.root.1))
    }

    /// Whose the nth copy is, and where it is.
    pub fn nth_copy(&self, nth: usize) -> Option<(Who, u64)> {
        let copies =
            self.known.iter().flat_map(|one| one.copies.iter().map(|copy| (one.who, copy.log_offset)));
        copies.into_iter().nth(nth)
    }

    pub fn by_root(&self, log_offset: u64) -> Option<usize> {
        self.known.iter().position(|one| one.root.0 == log_offset)
    }

    pub fn newest_pending(&self, who: Who) -> Option<usize> {
        self.known.iter().rposition(|one| one.who == who && one.decision.is_none())
    }

    /// Every copy with its transaction.
    pub fn copies(&self) -> Vec<(u64, u64, Transaction)> {
        let pairs =
            self.known.iter().flat_map(|one| one.copies.iter().map(move |copy| (copy, one.transaction())));
        pairs.map(|(copy, transaction)| (copy.half_offset, copy.log_offset, transaction)).collect()
    }

    pub fn find_undecided(&self, who: Who) -> Option<Transaction> {
        self.newest_pending(who).map(|at| self.known[at].transaction())
    }

    pub fn view(&self) -> View {
        let mut pending: Vec<&Known> = self.known.iter().filter(|one| one.decision.is_none()).collect();
        pending.sort_by_key(|one| one.newest().half_offset);
        let mut decided: Vec<&Known> = self.known.iter().filter(|one| one.decision.is_some()).collect();
        decided.sort_by_key(|one| std::cmp::Reverse(one.number()));
        let mut unmarked: Vec<&Known> = decided.iter().copied().filter(|one| one.is_unmarked()).collect();
        unmarked.sort_by_key(|one| one.root.0);
        let of_group = |group: usize| pending.iter().filter(|one| one.who.0 == group).count();
        let groups = (0..GROUPS.len()).map(|group| (GROUPS[group].to_owned(), of_group(group)));
        let live = pending.iter().flat_map(|one| &one.copies).filter(|copy| copy.is_live);
        let values = |list: &[&Known]| list.iter().map(|one| one.transaction()).collect();
        View {
            pending_by_group: groups.filter(|(_, count)| *count > 0).collect(),
            first_live: live.map(|copy| (copy.half_offset, copy.log_offset)).min(),
            oldest_root_store_ms: pending.iter().map(|one| one.root.1).min(),
            pending: values(&pending),
            decided: values(&decided),
            unmarked: values(&unmarked),
            ignored: self.ignored,
            contradictions: self.contradictions,
        }
    }

    fn decide(&mut self, at: usize, state: TransactionState, by: Option<&str>, receipt: &Receipt) {
        self.decisions += 1;
        self.known[at].decision = Some(Decision {
            number: self.decisions,
            state,
            ms: Some(receipt.store_timestamp_ms),
            by: by.map(str::to_owned),
            end: receipt.end_offset().0,
            final_log_offset: None,
        });
    }

    fn set_final(&mut self, at: usize, receipt: &Receipt) {
        if let Some(decision) = &mut self.known[at].decision {
            decision.final_log_offset = Some(receipt.log_offset.0);
        }
    }

    fn mark(&mut self, half: u64) -> Option<(usize, bool)> {
        let has_it = |one: &Known| one.copies.iter().any(|copy| copy.half_offset == half);
        let at = self.known.iter().position(has_it)?;
        let copy = self.known[at].copies.iter_mut().find(|copy| copy.half_offset == half)?;
        Some((at, std::mem::replace(&mut copy.is_live, false)))
    }
}

impl Known {
    fn add(&mut self, checks: u32, receipt: &Receipt) {
        self.copies.push(copy(receipt));
        if self.decision.is_none() {
            self.checks = checks;
        }
    }

    fn newest(&self) -> &Copy {
        self.copies.last().expect("a transaction has a copy")
    }

    fn number(&self) -> Option<usize> {
        self.decision.as_ref().map(|decision| decision.number)
    }

    fn is_unmarked(&self) -> bool {
        let is_closed = self.decision.as_ref().is_some_and(|one| one.state == TransactionState::Closed);
        self.decision.is_some() && !is_closed && self.copies.iter().any(|copy| copy.is_live)
    }

    fn transaction(&self) -> Transaction {
        let decision = self.decision.as_ref();
        let newest = self.newest();
        Transaction {
            root_log_offset: self.root.0,
            root_store_ms: self.root.1,
            group: GROUPS[self.who.0].to_owned(),
            topic: TOPIC.to_owned(),
            queue_id: 3,
            unique_id: IDS[self.who.1].to_owned(),
            body_crc: escrowmq_wire::body_checksum(b"body"),
            checks: self.checks,
            is_asked: false,
            state: decision.map_or(TransactionState::Pending, |decision| decision.state),
            half_offset: newest.half_offset,
            log_offset: newest.log_offset,
            live_half_offsets: self
                .copies
                .iter()
                .filter(|one| one.is_live)
                .map(|one| one.half_offset)
                .collect(),
            store_ms: newest.store_ms,
            decided_ms: decision.and_then(|decision| decision.ms),
            decided_by: decision.and_then(|decision| decision.by.clone()),
            decision_end: decision.map_or(0, |decision| decision.end),
            final_log_offset: decision.and_then(|decision| decision.final_log_offset),
        }
    }
}

fn copy(receipt: &Receipt) -> Copy {
    Copy {
        half_offset: receipt.queue_offset.0,
        log_offset: receipt.log_offset.0,
        store_ms: receipt.store_timestamp_ms,
        is_live: true,
    }
}
