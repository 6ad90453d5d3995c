/** A chart in SVG: bars for groups, lines for parts of time. The table beside it has the same numbers as text. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ticksOf, type ChartData } from './chart-data.ts'
import { save } from './download.ts'
import { Icon } from './icons.tsx'

/** In pixels, as the sizes of texts are: of a chart, of one of several, around the lines, of a line of the legend. */
const [HEIGHT, SHORT] = [320, 220]
const AROUND = { left: 56, right: 16, top: 44, bottom: 32 }
const LINE = 18
/** About, of a character and of a label below the axis. */
const CHARACTER = 6.5
const LABEL = 76
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const write = (value: number | undefined): string => value?.toLocaleString('en') ?? '–'
const clip = (text: string, width: number): string => {
  const room = Math.max(4, Math.floor(width / CHARACTER))
  return text.length > room ? `${text.slice(0, room - 1)}…` : text
}

export function Chart ({ data: { kind, title, labels, series, notes }, name, isOneOfSeveral }: { data: ChartData, name: string, isOneOfSeveral: boolean }) {
  const [pointed, setPointed] = useState<number>()
  const [whole, setWhole] = useState(640)
  const figure = useRef<HTMLElement>(null)
  const svg = useRef<SVGSVGElement>(null)
  // drawn in pixels, so that its texts have one size on every screen
  useLayoutEffect(() => {
    const element = figure.current as HTMLElement
    const { paddingLeft, paddingRight } = getComputedStyle(element)
    const observer = new ResizeObserver(() => setWhole(Math.max(240, element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight))))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const legend = series.length > 1 ? arrangeLegend(series.map((each) => each.name), whole) : []
  const below = legend.length === 0 ? 0 : (legend.at(-1)?.y ?? 0) + LINE
  const tall = (isOneOfSeveral ? SHORT : HEIGHT) + below
  const numbers = series.flatMap(({ values }) => values).filter((value) => value !== undefined)
  const ticks = ticksOf(Math.min(...numbers), Math.max(...numbers))
  const [least, most] = [ticks[0] as number, ticks.at(-1) as number]
  const [width, height] = [whole - AROUND.left - AROUND.right, tall - AROUND.top - AROUND.bottom - below]
  const slot = width / labels.length
  const x = (index: number): number => AROUND.left + slot * (index + 0.5)
  const y = (value: number): number => AROUND.top + height * (1 - (value - least) / (most - least))
  const every = Math.ceil(labels.length / Math.max(1, Math.floor(width / LABEL)))
  const bar = Math.min(36, slot * 0.8) / series.length
  const point = (event: PointerEvent): void => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined) return
    const index = Math.floor((event.clientX - box.left - AROUND.left) / slot)
    setPointed(index >= 0 && index < labels.length ? index : undefined)
  }
  /** The colors as they are now: a file has no style of the page. */
  const saveFile = (): void => {
    if (svg.current === null) return
    const copy = svg.current.cloneNode(true) as SVGSVGElement
    const [from, to] = [svg.current, copy].map((each) => [each, ...each.querySelectorAll('*')])
    from?.forEach((each, index) => {
      const { fill, stroke, strokeWidth, fontSize, fontFamily, fontWeight } = getComputedStyle(each)
      for (const [attribute, value] of Object.entries({ fill, stroke, 'stroke-width': strokeWidth, 'font-size': fontSize, 'font-family': fontFamily, 'font-weight': fontWeight })) to?.[index]?.setAttribute(attribute, value)
    })
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
    save(new Blob([copy.outerHTML], { type: 'image/svg+xml' }), `${name}.svg`)
  }
  return (
    <figure ref={figure} class='chart'>
      <button type='button' class='quiet' onClick={saveFile}><Icon name='save' />Save SVG</button>
      <svg ref={svg} viewBox={`0 0 ${whole} ${tall}`} width={whole} height={tall} role='img' aria-label={`Chart of ${title}; the table has the same numbers`} onPointerMove={point} onPointerDown={point} onPointerLeave={() => setPointed(undefined)}>
        <text class='title' x={0} y={20}>{clip(title, whole - 140)}</text>
        {ticks.map((tick) => <g key={tick}><line class={tick === 0 ? 'axis' : 'tick'} x1={AROUND.left} x2={whole - AROUND.right} y1={y(tick)} y2={y(tick)} /><text class='label' x={AROUND.left - 8} y={y(tick) + 4} text-anchor='end'>{short.format(tick)}</text></g>)}
        {labels.map((label, index) => index % every === 0 && <text key={label} class='label' x={x(index)} y={AROUND.top + height + 18} text-anchor='middle'>{clip(label, Math.max(LABEL, slot * every) - 4)}</text>)}
        {pointed !== undefined && <rect class='pointed' x={x(pointed) - slot / 2} y={AROUND.top} width={slot} height={height} />}
        {kind === 'bars'
          ? series.map((each, at) => each.values.map((value, index) => value !== undefined && <rect key={`${each.name} ${labels[index] ?? ''}`} class={`bar s${at}`} x={x(index) - bar * series.length / 2 + bar * at} width={Math.max(1, bar - 1)} y={Math.min(y(value), y(0))} height={Math.abs(y(value) - y(0))} rx={2} />))
          : series.map((each, at) => <path key={each.name} class={`line s${at}`} d={pathOf(each.values, x, y)} />)}
        {kind === 'line' && series.map((each, at) => each.values.map((value, index) => value !== undefined && (labels.length <= 40 || index === pointed || isAlone(each.values, index)) && <circle key={`${each.name} ${labels[index] ?? ''}`} class={`dot s${at}`} cx={x(index)} cy={y(value)} r={index === pointed ? 4.5 : 2.5} />))}
        {legend.map(({ name: each, x, y }, at) => <g key={each}><rect class={`swatch s${at}`} x={x} y={tall - below + y + 4} width={10} height={10} rx={3} /><text class='label' x={x + 16} y={tall - below + y + 13}>{each}</text></g>)}
        {pointed !== undefined && <Here lines={[...series.length > 1 ? [labels[pointed] as string] : [], ...series.map((each) => `${series.length > 1 ? each.name : labels[pointed] as string}: ${write(each.values[pointed])}`)]} x={x(pointed)} whole={whole} />}
      </svg>
      {notes.length > 0 && <p class='muted'>Drawn are {notes.join(', ')}.</p>}
    </figure>
  )
}

/** The values at the pointer, beside it. */
function Here ({ lines, x, whole }: { lines: readonly string[], x: number, whole: number }) {
  const width = Math.max(...lines.map(({ length }) => length)) * CHARACTER + 16
  const left = x + 8 + width > whole ? Math.max(0, x - 8 - width) : x + 8
  return (
    <g class='here'>
      <rect x={left} y={AROUND.top + 4} width={width} height={lines.length * 16 + 8} rx={4} />
      {lines.map((line, index) => <text key={line} x={left + 8} y={AROUND.top + 20 + 16 * index}>{line}</text>)}
    </g>
  )
}

/** Names beside each other, in as many lines as they need. */
function arrangeLegend (names: readonly string[], whole: number): Array<{ readonly name: string, readonly x: number, readonly y: number }> {
  let [x, y] = [0, 0]
  return names.map((each) => {
    const name = clip(each, 160)
    const width = name.length * CHARACTER + 32
    if (x > 0 && x + width > whole) [x, y] = [0, y + LINE]
    const placed = { name, x, y }
    x += width
    return placed
  })
}

/** Whether a line has no part beside this value. */
const isAlone = (values: ReadonlyArray<number | undefined>, index: number): boolean => values[index - 1] === undefined && values[index + 1] === undefined

/** A line, which is broken where there is no number. */
function pathOf (values: ReadonlyArray<number | undefined>, x: (index: number) => number, y: (value: number) => number): string {
  let isOn = false
  return values.map((value, index) => {
    if (value === undefined) {
      isOn = false
      return ''
    }
    const step = `${isOn ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`
    isOn = true
    return step
  }).join('')
}
