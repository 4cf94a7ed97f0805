//! Three-valued logic: true, false, and unknown, which NULL causes.

/// `None` is unknown.
pub type Truth = Option<bool>;

/// Unknown, unless one side is false.
#[inline]
pub const fn and(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Unknown, unless one side is true.
#[inline]
pub const fn or(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Unknown stays unknown.
#[inline]
pub const fn not(a: Truth) -> Truth {
    match a {
        Some(a) => Some(!a),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_counts_only_where_it_could_change_the_outcome() {
        const ALL: [Truth; 3] = [Some(true), Some(false), None];
        let known = [true, false];
        for a in ALL {
            for b in ALL {
                // Every value that unknown could stand for, on each side.
                let stand = |x: Truth| known.into_iter().filter(move |k| x.is_none_or(|x| x == *k));
                let fold = |op: fn(bool, bool) -> bool| {
                    let mut seen: Vec<bool> = stand(a)
                        .flat_map(|x| stand(b).map(move |y| op(x, y)))
                        .collect();
                    seen.dedup();
                    if seen.iter().all(|&x| x == seen[0]) {
                        Some(seen[0])
                    } else {
                        None
                    }
                };
                assert_eq!(and(a, b), fold(|x, y| x && y));
                assert_eq!(or(a, b), fold(|x, y| x || y));
            }
            assert_eq!(not(not(a)), a);
        }
    }
}
