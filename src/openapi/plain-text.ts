/** Texts of others, such as comments of tables, where a document takes Markdown (CommonMark). */

/**
 * The text with what would become HTML, a link or a picture written so that it is shown as it stands. Everything else is left:
 * generators put descriptions into comments of programs, where escapes are read by people.
 */
export function plainText (text: string): string {
  return text.replace(/<(?=[A-Za-z/!?])/g, '&lt;').replace(/\](?=[([:])/g, ']\\')
}
