// Package transform changes records: expressions over their fields, and the stateless steps filter, map and unnest, and dedup, which
// remembers keys for a span of event time. Everything works on batches of columns.
//
// # Expressions
//
// The grammar is that of expr-lang/expr, whose parser reads it; what the parts mean is this package's own, because records are not Go
// values: whole numbers must stay exact, null must not stop a pipeline, and a mistake in one record is that record's mistake.
//
//   - Compile checks an expression against a [Schema] and gives a [Program], or all [Mistakes], each with its place in the text.
//     Where a field's type is declared, types are checked; where it is not, they are looked at row by row.
//   - Program.Fields tells which fields are read, so that decode projects only those.
//   - An [Evaluator] computes a program for all alive rows of a batch into a column. Comparisons, arithmetic, logic and string equality
//     run in loops over columns; everything else row by row. Nothing is allocated for a row, apart from lists, and texts go into the
//     batch's arena.
//
// # Values
//
// Fields: name, a.b, a["x.y"], a[0], and $env["any name"] for a name that is no word. A step into what is not there is null.
//
// Null: a field that is missing or null is null. What is computed with null is null: null + 1, null > 1, null == 1, len(null), null in
// [1, 2]. `== nil` and `!= nil`, with the word nil itself, ask whether there is a value, and a ?? b is b where a is null. In and, or and
// not null is "unknown": null and false is false, null or true is true, else null. A filter keeps rows for which its
// condition is true, so neither false nor null. The condition of a ? b : c takes c for null.
//
// Numbers: whole numbers are exact from -2^63 to 2^64-1; + - * and % of them are whole, and what does not fit is a mistake of the row,
// never a wrap. / and ** give floats. Division by zero is a mistake. Whole numbers and floats are compared exactly. A number in
// JSON that neither holds (1e400, 30 digits) counts as the nearest float when it is computed with, and stays as it is when it is not.
//
// Equality of values of different nature (a string and a number) is false where types are not declared, and a mistake at Compile where
// they are. Ordering them is always a mistake. Strings are ordered by their bytes.
//
// Times are milliseconds: time - time is a whole number, time + number a time. There is no now(): a result must not depend on when a
// record is processed.
//
// Lists and objects are JSON. all, any, none, one, count, filter, find, map and sum take a condition or expression over each element, in
// which # is the element, .name a member of it and #index its number. `let x = …; …` names a value.
//
// The functions are listed by [Functions] and [Predicates].
//
// # Mistakes of rows
//
// A row for which an expression cannot be computed is refused with [CodeExpression] and a message that shows the values. The right side
// of and, or, ?? and ?: is only computed where it matters, so `n != 0 and total / n > 5` is safe.
//
// # Steps
//
// [Filter], [Map] and [Unnest] belong to one goroutine each and keep scratch memory; a pipeline makes one of each for every worker. Their
// [Counts] close: In = Out + Filtered + Rejected (for unnest, Out counts the new rows instead). [Dedup] is one shard of a keyed
// step; its state goes into checkpoints as changes, like a window operator's.
//
// Invariants: cutting rows into other batches changes no result; columnar loops and row by row give the same; nothing here reads a
// clock, starts a goroutine or keeps a reference to a batch after a call.
package transform
