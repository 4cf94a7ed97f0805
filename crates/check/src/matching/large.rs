//! Large values: every piece has one pointer to it, every pointer leads to a piece of that value and length.

use super::Matcher;
use crate::facts::{TextNode, TextRef};
use crate::finding::page;
use crate::scan::ANY_LENGTH;
use furrow_format::RowId;
use furrow_messages::Arg;

fn node_args(at: RowId, blob: u64) -> [Arg; 3] {
    [page(at.page), at.slot.into(), blob.into()]
}

impl Matcher<'_> {
    pub(super) fn match_large(&mut self) {
        let facts = self.facts;
        let mut refs = facts.text_refs.iter().peekable();
        for node in facts.text_nodes.iter() {
            while let Some(text) = refs.next_if(|text| text.to < node.at) {
                self.dangling(&text);
            }
            // More than two say no more than two.
            let (mut first, mut second) = (None, None);
            while let Some(text) = refs.next_if(|text| text.to == node.at) {
                match (&first, &second) {
                    (None, _) => first = Some(text),
                    (Some(_), None) => second = Some(text),
                    _ => {}
                }
            }
            self.piece(&node, first.as_ref(), second.as_ref());
        }
        for text in refs {
            self.dangling(&text);
        }
    }

    fn piece(&mut self, node: &TextNode, first: Option<&TextRef>, second: Option<&TextRef>) {
        let plan = self.shared.plan;
        let of = plan.of(node.unit);
        let named = node_args(node.at, node.blob);
        let Some(first) = first else {
            let means = format!(
                "No row leads to the piece {} of a large value {of}.",
                node.at
            );
            self.of_unit((8964, node.unit), node.at.page, &named, means);
            return;
        };
        if let Some(second) = second.filter(|second| !second.ghost && !first.ghost) {
            let means = format!("Two values share the piece {} {of}.", node.at);
            let mut args = named.to_vec();
            args.extend([page(first.from.page), first.from.slot.into()]);
            args.extend([page(second.from.page), second.from.slot.into()]);
            self.of_unit((8974, node.unit), node.at.page, &args, means);
        }
        let length = first.bytes.unwrap_or(node.bytes);
        let fits = node.bytes == ANY_LENGTH || length == node.bytes;
        if (first.blob != node.blob || !fits) && !first.ghost {
            let means = format!(
                "The piece {} of a large value {of}is not the one that the row {} means.",
                node.at, first.from
            );
            let mut args = named.to_vec();
            args.extend([page(first.from.page), first.from.slot.into()]);
            self.of_unit((8961, node.unit), node.at.page, &args, means);
        }
    }

    /// A pointer that leads to no piece.
    fn dangling(&mut self, text: &TextRef) {
        if text.ghost {
            return;
        }
        let plan = self.shared.plan;
        let of = plan.of(text.unit);
        let means = format!(
            "A large value of the row {} {of}is not there: its piece {} is missing.",
            text.from, text.to
        );
        let mut args = node_args(text.to, text.blob).to_vec();
        args.extend([page(text.from.page), text.from.slot.into()]);
        self.of_unit((8965, text.unit), text.from.page, &args, means.clone());
        let row = format!("RID = ({})", text.from.to_string().trim_matches(['(', ')']));
        let args = [text.blob.into(), row.into()];
        self.of_unit((8929, text.unit), text.from.page, &args, means);
    }
}
