/** What stands around the data of an answer, and around its rows. */

/** What stands before the data of every answer. */
export const ENVELOPE = '{"success":true,"data":'

/** What stands before the first row. */
export const BEFORE_ROWS = `${ENVELOPE}{"rows":[`

/** What stands behind `count` rows. `members`: those of the data that follow the rows, such as `"count":2`. */
export const afterRows = (count: number, members: string): string => `${count === 0 ? BEFORE_ROWS : ''}],${members}}}`
