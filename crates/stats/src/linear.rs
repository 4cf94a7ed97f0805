//! Small symmetric systems: Cholesky, for designs of some dozens of columns.

/// A square symmetric matrix, row by row.
#[derive(Debug, Clone)]
pub(super) struct Symmetric {
    n: usize,
    cells: Vec<f64>,
}

impl Symmetric {
    pub(super) fn zero(n: usize) -> Symmetric {
        Symmetric {
            n,
            cells: vec![0.0; n * n],
        }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.n + column]
    }

    pub(super) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.n + column] += value;
    }

    /// The inverse, or the first column that depends on the ones before it.
    pub(super) fn inverse(&self) -> Result<Symmetric, usize> {
        let n = self.n;
        let lower = self.cholesky()?;
        // Invert the triangle, then multiply: A^-1 = L^-T L^-1.
        let mut triangle = Symmetric::zero(n);
        for column in 0..n {
            for row in column..n {
                let unit = if row == column { 1.0 } else { 0.0 };
                let sum: f64 = (column..row)
                    .map(|k| lower.at(row, k) * triangle.at(k, column))
                    .sum();
                triangle.cells[row * n + column] = (unit - sum) / lower.at(row, row);
            }
        }
        let mut inverse = Symmetric::zero(n);
        for row in 0..n {
            for column in 0..=row {
                let sum: f64 = (row..n)
                    .map(|k| triangle.at(k, row) * triangle.at(k, column))
                    .sum();
                inverse.cells[row * n + column] = sum;
                inverse.cells[column * n + row] = sum;
            }
        }
        Ok(inverse)
    }

    fn cholesky(&self) -> Result<Symmetric, usize> {
        let n = self.n;
        let mut lower = Symmetric::zero(n);
        for row in 0..n {
            for column in 0..=row {
                let sum: f64 = (0..column)
                    .map(|k| lower.at(row, k) * lower.at(column, k))
                    .sum();
                let rest = self.at(row, column) - sum;
                if row == column {
                    if rest <= 1e-10 * self.at(row, row).abs().max(1e-300) {
                        return Err(row);
                    }
                    lower.cells[row * n + row] = rest.sqrt();
                } else {
                    lower.cells[row * n + column] = rest / lower.at(column, column);
                }
            }
        }
        Ok(lower)
    }

    pub(super) fn times(&self, vector: &[f64]) -> Vec<f64> {
        (0..self.n)
            .map(|row| {
                (0..self.n)
                    .map(|column| self.at(row, column) * vector[column])
                    .sum()
            })
            .collect()
    }
}

/// Ordinary least squares: coefficients, residual sum of squares and the inverse of the normal matrix.
/// `None` when the columns depend on each other or are more than the rows.
pub(super) fn least_squares(rows: &[Vec<f64>], y: &[f64]) -> Option<(Vec<f64>, f64, Symmetric)> {
    let columns = rows.first()?.len();
    if rows.len() < columns {
        return None;
    }
    let mut normal = Symmetric::zero(columns);
    let mut right = vec![0.0; columns];
    for (row, &value) in rows.iter().zip(y) {
        for i in 0..columns {
            right[i] += row[i] * value;
            for j in 0..columns {
                normal.add(i, j, row[i] * row[j]);
            }
        }
    }
    let inverse = normal.inverse().ok()?;
    let coefficients = inverse.times(&right);
    let rss = rows
        .iter()
        .zip(y)
        .map(|(row, value)| {
            let fitted: f64 = row.iter().zip(&coefficients).map(|(x, c)| x * c).sum();
            (value - fitted) * (value - fitted)
        })
        .sum();
    Some((coefficients, rss, inverse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_on_a_line_is_found_exactly() {
        let rows: Vec<Vec<f64>> = (0..5).map(|x| vec![1.0, f64::from(x)]).collect();
        let y: Vec<f64> = (0..5).map(|x| 3.0 - 0.5 * f64::from(x)).collect();
        let (coefficients, rss, _) = least_squares(&rows, &y).unwrap();
        assert!((coefficients[0] - 3.0).abs() < 1e-12 && (coefficients[1] + 0.5).abs() < 1e-12);
        assert!(rss < 1e-20);
    }

    #[test]
    fn a_column_that_repeats_another_is_refused() {
        let rows: Vec<Vec<f64>> = (0..5)
            .map(|x| vec![1.0, f64::from(x), f64::from(2 * x)])
            .collect();
        assert!(least_squares(&rows, &[1.0; 5]).is_none());
    }
}
