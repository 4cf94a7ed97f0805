//! Reads T-SQL from standard input, one batch a line, and prints the tree or the errors.

use std::io::BufRead;

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match furrow_tsql::parse(&line, furrow_tsql::Options::default()) {
            Ok(batch) => println!("ok  {line}\n    {:?}", batch.statements),
            Err(errors) => {
                println!("ERR {line}");
                for error in errors {
                    println!("    {error}");
                }
            }
        }
    }
}
