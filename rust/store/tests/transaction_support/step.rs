//! What brokers do to transactions, at random: ours and Apache's, in any order, sensible or not.

use escrowmq_store::transaction_index::{DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TransactionState};
use escrowmq_wire::TransactionKind;
use proptest::prelude::*;

use super::model::Model;
use super::rig::{Draft, Rig};

pub const GROUPS: [&str; 2] = ["billing", "shipping"];
pub const IDS: [&str; 3] = ["7F00000100002A9F0000000000000010", "an id of another kind", "7F"];
pub const TOPIC: &str = "payments";

/// Group and unique id, by number.
pub type Who = (usize, usize);

/// Something that is appended.
#[derive(Debug, Clone)]
pub enum Step {
    Prepare(Who),
    /// A copy as Apache makes them.
    ApacheCopy(Who, u32),
    /// A copy of the nth transaction, as we make them.
    OurCopy(usize, u32),
    /// One of a transaction that is not in the log.
    CopyOfExpired(Who, u64),
    /// A final record for the nth copy, and whether all in it is right.
    Final(usize, FinalKind),
    /// An op record without our property.
    ApacheOp(Vec<u64>),
    /// An op record with our property.
    OurOp(Vec<(char, u64)>),
    DiscardRoot(usize),
    DiscardKey(Who),
    /// Something that concerns nobody.
    Noise(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalKind {
    Right,
    Delayed,
    OtherTopic,
    OtherId,
}

pub fn steps(count_max: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..count_max)
}

fn step() -> impl Strategy<Value = Step> {
    let who = || (0..GROUPS.len(), 0..IDS.len());
    let kind = prop_oneof![
        5 => Just(FinalKind::Right), 1 => Just(FinalKind::Delayed), 1 => Just(FinalKind::OtherTopic),
        1 => Just(FinalKind::OtherId),
    ];
    prop_oneof![
        4 => who().prop_map(Step::Prepare),
        2 => (who(), 0_u32..4).prop_map(|(who, checks)| Step::ApacheCopy(who, checks)),
        3 => (0_usize..9, 0_u32..4).prop_map(|(nth, checks)| Step::OurCopy(nth, checks)),
        1 => (who(), 0_u64..3).prop_map(|(who, root)| Step::CopyOfExpired(who, root)),
        3 => (0_usize..12, kind).prop_map(|(nth, kind)| Step::Final(nth, kind)),
        2 => proptest::collection::vec(0_u64..15, 0..3).prop_map(Step::ApacheOp),
        4 => proptest::collection::vec((proptest::sample::select(&['C', 'R', 'D', 'P'][..]), 0_u64..15), 1..4)
            .prop_map(Step::OurOp),
        1 => (0_usize..9).prop_map(Step::DiscardRoot),
        1 => who().prop_map(Step::DiscardKey),
        1 => (0_usize..4).prop_map(Step::Noise),
    ]
}

impl Step {
    /// Appends it, and tells the model what it should mean.
    pub fn run(&self, rig: &Rig, model: &mut Model) {
        match self {
            Self::Prepare(who) => {
                let receipt = append(rig, half(*who, &[]));
                model.prepare(*who, None, 0, &receipt);
            }
            Self::ApacheCopy(who, checks) => {
                let mark = match checks {
                    0 => ("TRAN_PREPARED_QUEUE_OFFSET", "0".to_owned()),
                    checks => ("TRANSACTION_CHECK_TIMES", checks.to_string()),
                };
                let receipt = append(rig, half(*who, &[mark]));
                model.apache_copy(*who, *checks, &receipt);
            }
            Self::OurCopy(nth, checks) => {
                let Some((who, root_log_offset, root_ms)) = model.nth(*nth) else { return };
                let receipt = append(rig, our_copy(who, *checks, root_log_offset, root_ms));
                model.our_copy(who, (root_log_offset, root_ms), *checks, &receipt);
            }
            Self::CopyOfExpired(who, root) => {
                // In the log's first bytes stands something else, so that no half record is there.
                let receipt = append(rig, our_copy(*who, 1, root + 1, 7));
                model.our_copy(*who, (root + 1, 7), 1, &receipt);
            }
            Self::Final(nth, kind) => {
                let Some((who, half_log_offset)) = model.nth_copy(*nth) else { return };
                let receipt = append(rig, final_record(who, half_log_offset, *kind));
                if matches!(kind, FinalKind::Right | FinalKind::Delayed) {
                    model.commit(half_log_offset, &receipt);
                }
            }
            Self::ApacheOp(halves) => {
                let receipt = append(rig, op(halves, None));
                for half in halves {
                    model.apache_op(*half, &receipt);
                }
            }
            Self::OurOp(marks) => {
                let halves: Vec<u64> = marks.iter().map(|(_, half)| *half).collect();
                let receipt = append(rig, op(&halves, Some(marks)));
                for (kind, half) in marks {
                    model.our_op(state_of(*kind), *half, &receipt);
                }
            }
            Self::DiscardRoot(nth) => {
                let Some((who, log_offset, ms)) = model.nth(*nth) else { return };
                let root = ("ESCROWMQ_ROOT", format!("{log_offset},{ms}"));
                let receipt = append(rig, Draft { topic: DISCARD_TOPIC.to_owned(), ..half(who, &[root]) });
                model.discard(model.by_root(log_offset), &receipt);
            }
            Self::DiscardKey(who) => {
                let receipt = append(rig, Draft { topic: DISCARD_TOPIC.to_owned(), ..half(*who, &[]) });
                model.discard(model.newest_pending(*who), &receipt);
            }
            Self::Noise(kind) => {
                append(rig, noise(*kind));
                model.ignored += u64::from(*kind < 2);
            }
        }
    }
}

fn append(rig: &Rig, draft: Draft) -> escrowmq_store::Receipt {
    rig.append(&[draft])[0]
}

/// A half message.
pub fn half((group, id): Who, more: &[(&'static str, String)]) -> Draft {
    let mut properties = vec![
        ("PGROUP", GROUPS[group].to_owned()),
        ("UNIQ_KEY", IDS[id].to_owned()),
        ("REAL_TOPIC", TOPIC.to_owned()),
        ("REAL_QID", "3".to_owned()),
    ];
    properties.extend_from_slice(more);
    Draft { topic: HALF_TOPIC.to_owned(), body: b"body".to_vec(), properties, ..Draft::default() }
}

fn our_copy(who: Who, checks: u32, root_log_offset: u64, root_ms: i64) -> Draft {
    let root = ("ESCROWMQ_ROOT", format!("{root_log_offset},{root_ms}"));
    half(who, &[root, ("TRANSACTION_CHECK_TIMES", checks.to_string())])
}

/// A committed message.
pub fn final_record((_, id): Who, half_log_offset: u64, kind: FinalKind) -> Draft {
    let id = if kind == FinalKind::OtherId { "other" } else { IDS[id] };
    let mut properties = vec![("UNIQ_KEY", id.to_owned())];
    let topic = match kind {
        FinalKind::Right | FinalKind::OtherId => TOPIC,
        FinalKind::OtherTopic => "%RETRY%billing",
        FinalKind::Delayed => {
            properties.push(("REAL_TOPIC", TOPIC.to_owned()));
            "SCHEDULE_TOPIC_XXXX"
        }
    };
    Draft {
        topic: topic.to_owned(),
        sys_flag: TransactionKind::Commit.bits(),
        prepared_transaction_offset: half_log_offset.cast_signed(),
        body: b"body".to_vec(),
        properties,
    }
}

/// An op record, ours where it says what is meant.
pub fn op(halves: &[u64], marks: Option<&[(char, u64)]>) -> Draft {
    let body = halves.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut properties = vec![("TAGS", "d".to_owned())];
    if let Some(marks) = marks {
        let entry = |(kind, half): &(char, u64)| match kind {
            'P' => format!("P{half}"),
            kind => format!("{kind}{half}@somebody"),
        };
        properties.push(("ESCROWMQ_DECIDED", marks.iter().map(entry).collect::<Vec<_>>().join(";")));
    }
    Draft { topic: OP_TOPIC.to_owned(), body: body.into_bytes(), properties, ..Draft::default() }
}

/// What concerns no transaction; the first two kinds look as if they did.
fn noise(kind: usize) -> Draft {
    match kind {
        0 => Draft { properties: vec![("PGROUP", "billing".to_owned())], ..half((0, 0), &[]) },
        1 => Draft { sys_flag: TransactionKind::Prepared.bits(), ..half((0, 0), &[]) },
        2 => Draft { properties: Vec::new(), ..op(&[0, 1, 2], None) },
        _ => Draft { topic: "orders".to_owned(), ..half((0, 0), &[]) },
    }
}

fn state_of(kind: char) -> Option<TransactionState> {
    match kind {
        'C' => Some(TransactionState::Committed),
        'R' => Some(TransactionState::RolledBack),
        'D' => Some(TransactionState::Discarded),
        _ => None,
    }
}
