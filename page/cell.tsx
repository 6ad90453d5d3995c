/** A value in the grid. */
import { Digits, isList, isObject, writeLine, writeLines, type Json } from './json.ts'
import { useStage } from './stage.tsx'

/** Longer values are cut, and opened on click. */
const MAX_LENGTH = 80

/** The text of a value as a person copies it. */
export const shownText = (value: Json): string => typeof value === 'string' ? value : writeLines(value)

export function Value ({ value, name }: { value: Json | undefined, name: string }) {
  const { show } = useStage()
  if (value === undefined) return null
  if (value === null) return <span class='null'>NULL</span>
  if (value === '') return <span class='null' title='An empty text'>""</span>
  if (typeof value === 'boolean' || typeof value === 'number' || value instanceof Digits) return <>{writeLine(value)}</>
  const isText = typeof value === 'string'
  const line = isText ? value : writeLine(value)
  if (isText && line.length <= MAX_LENGTH && !/[\n\r\t]/.test(line)) return <>{line}</>
  if (!isText && line.length <= MAX_LENGTH / 2) return <code>{line}</code>
  return (
    <button type='button' class='long' title='Show the whole value' onClick={() => show({ title: name, content: <WholeValue value={value} /> })}>
      {isText ? line.slice(0, MAX_LENGTH) : <code>{line.slice(0, MAX_LENGTH / 2)}</code>}…
    </button>
  )
}

/** Longer values of an opened row are cut. */
const MAX_WHOLE = 4000

/** A value of an opened row: it has all the width, and its lines. */
export function LongValue ({ value, name }: { value: Json | undefined, name: string }) {
  const isLong = value !== undefined && value !== null && (typeof value === 'string' ? value.length > MAX_LENGTH || /[\n\r\t]/.test(value) : isObject(value) || isList(value))
  const text = isLong ? shownText(value) : ''
  return isLong && text.length <= MAX_WHOLE ? typeof value === 'string' ? <span class='lines'>{text}</span> : <pre class='lines'>{text}</pre> : <Value value={value} name={name} />
}

export function WholeValue ({ value }: { value: Json }) {
  const { say, show } = useStage()
  const text = shownText(value)
  const count = typeof value === 'string' ? `${text.length} characters` : isList(value) ? `${value.length} items` : isObject(value) ? `${Object.keys(value).length} members` : ''
  return (
    <>
      <pre class='whole' tabIndex={0}>{text}</pre>
      <p class='buttons'>
        <span class='muted'>{count}</span>
        <button type='button' onClick={() => { copy(text).then(say) }}>Copy</button>
        <button type='button' class='main' onClick={() => show(undefined)}>Close</button>
      </p>
    </>
  )
}

/** @returns what to say */
export async function copy (text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text)
    return 'Copied'
  } catch { // only pages of https and of this machine may
    return 'The browser does not allow the page to copy: select the text'
  }
}
