/** A value in the grid. */
import { Icon } from './icons.tsx'
import { Digits, isList, isObject, writeLine, writeLines, type Json } from './json.ts'
import { useStage } from './stage.tsx'
import type { Column } from './table.ts'

/** Longer values are cut, and opened on click. */
const MAX_LENGTH = 80

/** The text of a value as a person copies it. */
const shownText = (value: Json): string => typeof value === 'string' ? value : writeLines(value)

/** Number of colors of pills in the style. */
const COLORS = 8
const MAX_PILL = 24

/** The words of columns that had few: a page with few rows shows them as those before. */
const known = new WeakMap<Column, ReadonlySet<string>>()

/** The colors of the few values of a column; undefined if it has many, or if they are no words. */
export function colorsOf (column: Column | undefined, values: ReadonlyArray<Json | undefined>): ReadonlyMap<string, number> | undefined {
  const texts = values.filter((value) => typeof value === 'string')
  if (column === undefined || column.kind !== 'text' || column.isKey || column.references !== undefined || column.isBytes || column.takesNow.filters) return undefined
  const before = known.get(column)
  const found = [...new Set([...before ?? [], ...texts.sort()])]
  const isFew = column.members !== undefined || (found.length <= COLORS && (before !== undefined || (texts.length >= 6 && found.length <= texts.length / 3)))
  const words = column.members ?? found
  if (isFew) known.set(column, new Set(words))
  else known.delete(column)
  if (!isFew || words.some((word) => word === '' || word.length > MAX_PILL || /[\n\r\t]|^\s|\s$/.test(word))) return undefined
  const taken = new Set<number>()
  return new Map(words.map((word, index) => {
    // a value keeps its color on the next page, unless another one has it
    let color = column.members === undefined ? [...word].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % COLORS : index % COLORS
    for (let tries = 0; taken.has(color) && tries < COLORS; tries++) color = (color + 3) % COLORS
    taken.add(color)
    return [word, color]
  }))
}

interface ValueProps {
  readonly value: Json | undefined
  readonly name: string
  readonly column?: Column | undefined
  readonly colors?: ReadonlyMap<string, number> | undefined
  /** Whether bytes of an image are shown as one. */
  readonly isImage?: boolean | undefined
}

const MOMENT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(Z?)$/

export function Value ({ value, name, column, colors, isImage = false }: ValueProps) {
  const { show } = useStage()
  if (value === undefined) return null
  if (value === null) return <span class='null'>NULL</span>
  if (value === '') return <span class='null' title='An empty text'>""</span>
  if (typeof value === 'boolean' || (column?.kind === 'boolean' && (value === 0 || value === 1))) {
    const isTrue = value === true || value === 1
    return <span class={isTrue ? 'yes' : 'no'} title={String(isTrue)}>{isTrue ? <Icon name='check' /> : <Icon name='close' />}<span class='hidden'>{String(isTrue)}</span></span>
  }
  if (typeof value === 'number' || value instanceof Digits) return <>{writeLine(value)}</>
  const open = (): void => show({ title: name, content: <WholeValue value={value} isBytes={column?.isBytes === true} /> })
  if (typeof value === 'string') {
    const color = colors?.get(value)
    if (color !== undefined) return <span class={`pill p${color}`}>{value}</span>
    const moment = column?.takesNow.filters === true ? MOMENT.exec(value) : null
    if (moment !== null) return <time dateTime={value} title={value}>{moment[1]} {moment[2]}{moment[3] === 'Z' && <span class='muted'> UTC</span>}</time>
    if (column?.isBytes === true) return <button type='button' class='long' title='Show the bytes' onClick={open}>{isImage && imageType(value) !== undefined && value.length <= MAX_THUMBNAIL ? <img class='thumbnail' src={imageOf(value)} alt={describeBytes(value)} /> : describeBytes(value)}</button>
    const isShort = value.length <= MAX_LENGTH && !/[\n\r\t]/.test(value)
    return isShort ? <Marked text={value} /> : <button type='button' class='long' title='Show the whole value' onClick={open}><Marked text={value.slice(0, MAX_LENGTH)} />…</button>
  }
  const line = writeLine(value)
  return line.length <= MAX_LENGTH / 2 ? <code>{line}</code> : <button type='button' class='long' title='Show the whole value' onClick={open}><code>{line.slice(0, MAX_LENGTH / 2)}</code>…</button>
}

const SIGNS: Readonly<Record<string, string>> = { ' ': '·', '\t': '→', '\n': '↵', '\r': '↵' }

/** A text whose spaces at the ends, and whose line ends, can be seen. */
function Marked ({ text }: { text: string }) {
  const parts = text.split(/(^[ \t]+|[ \t]+$|\r\n|[\n\r\t])/)
  return parts.length === 1 ? <>{text}</> : <>{parts.map((part, index) => index % 2 === 0 ? part : <span key={index} class='sign' title={/[\n\r]/.test(part) ? 'A line end' : 'White space'}>{part === '\r\n' ? '↵' : [...part].map((each) => SIGNS[each] ?? each).join('')}</span>)}</>
}

/** Kinds of images by the beginning of their bytes in base64. */
const IMAGES: ReadonlyArray<readonly [beginning: string, type: string]> = [['iVBORw0KGgo', 'png'], ['/9j/', 'jpeg'], ['R0lGOD', 'gif'], ['UklGR', 'webp']]
const imageType = (base64: string): string | undefined => IMAGES.find(([beginning]) => base64.startsWith(beginning))?.[1]

const imageOf = (base64: string): string => `data:image/${imageType(base64) ?? ''};base64,${base64}`

/** Characters of an image that is drawn small: a page has many of them. */
const MAX_THUMBNAIL = 2_000_000

function describeBytes (base64: string): string {
  const bytes = Math.floor(base64.length * 3 / 4) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0)
  const size = bytes < 1000 ? `${bytes} bytes` : bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
  const type = imageType(base64)
  return type === undefined ? size : `${type}, ${size}`
}

/** Longer values of an opened row are cut. */
const MAX_WHOLE = 4000

/** A value of an opened row: it has all the width, and its lines. */
export function LongValue ({ value, name, column }: Omit<ValueProps, 'colors'>) {
  if (column?.takesNow.filters === true && typeof value === 'string') return <>{value}</>
  const isLong = column?.isBytes !== true && value !== undefined && value !== null && (typeof value === 'string' ? value.length > MAX_LENGTH || /[\n\r\t]/.test(value) : isObject(value) || isList(value))
  const text = isLong ? shownText(value) : ''
  return isLong && text.length <= MAX_WHOLE ? typeof value === 'string' ? <span class='lines'>{text}</span> : <pre class='lines'>{text}</pre> : <Value value={value} name={name} column={column} />
}

function WholeValue ({ value, isBytes = false }: { value: Json, isBytes?: boolean }) {
  const { say, show } = useStage()
  const text = shownText(value)
  const count = typeof value === 'string' ? `${text.length} characters` : isList(value) ? `${value.length} items` : isObject(value) ? `${Object.keys(value).length} members` : ''
  return (
    <>
      {isBytes && typeof value === 'string' && imageType(value) !== undefined
        ? <img class='image' src={imageOf(value)} alt='The image in this value' />
        : <pre class='whole' tabIndex={0}>{text}</pre>}
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
