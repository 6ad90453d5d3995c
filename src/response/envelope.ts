/** The text around the data of an answer, and around its rows. */

/** The text before the data of every answer. */
export const ENVELOPE = '{"success":true,"data":'

/** The text before the first row. */
export const BEFORE_ROWS = `${ENVELOPE}{"rows":[`

/** The text after `count` rows. `members`: the members of the data that follow the rows, such as `"count":2`. */
export const afterRows = (count: number, members: string): string => `${count === 0 ? BEFORE_ROWS : ''}],${members}}}`
