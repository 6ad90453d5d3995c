/** A chart in SVG: bars for groups, lines for parts of time. The table beside it has the same numbers as text. */
import { useRef, useState } from 'preact/hooks'
import { ticksOf, type ChartData } from './chart-data.ts'
import { save } from './download.ts'
import { Icon } from './icons.tsx'

const [WIDTH, HEIGHT] = [640, 300]
const AROUND = { left: 64, right: 16, top: 16, bottom: 44 }
/** Labels below the axis at most. */
const LABELS = 8
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export function Chart ({ data: { kind, title, labels, series }, name }: { data: ChartData, name: string }) {
  const [pointed, setPointed] = useState<number>()
  const svg = useRef<SVGSVGElement>(null)
  const numbers = series.flatMap(({ values }) => values).filter((value) => value !== undefined)
  const ticks = ticksOf(Math.min(...numbers), Math.max(...numbers))
  const [least, most] = [ticks[0] as number, ticks.at(-1) as number]
  const [width, height] = [WIDTH - AROUND.left - AROUND.right, HEIGHT - AROUND.top - AROUND.bottom]
  const slot = width / labels.length
  const x = (index: number): number => AROUND.left + slot * (index + 0.5)
  const y = (value: number): number => AROUND.top + height * (1 - (value - least) / (most - least))
  const every = Math.ceil(labels.length / LABELS)
  const bar = Math.min(36, slot * 0.8) / series.length
  const point = (event: PointerEvent): void => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined) return
    const index = Math.floor(((event.clientX - box.left) / box.width * WIDTH - AROUND.left) / slot)
    setPointed(index >= 0 && index < labels.length ? index : undefined)
  }
  /** The colors as they are now: a file has no style of the page. */
  const saveFile = (): void => {
    if (svg.current === null) return
    const copy = svg.current.cloneNode(true) as SVGSVGElement
    const [from, to] = [svg.current, copy].map((each) => [each, ...each.querySelectorAll('*')])
    from?.forEach((each, index) => {
      const { fill, stroke, strokeWidth, fontSize, fontFamily } = getComputedStyle(each)
      for (const [attribute, value] of Object.entries({ fill, stroke, 'stroke-width': strokeWidth, 'font-size': fontSize, 'font-family': fontFamily })) to?.[index]?.setAttribute(attribute, value)
    })
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
    copy.setAttribute('width', String(WIDTH))
    copy.setAttribute('height', String(HEIGHT))
    save(new Blob([copy.outerHTML], { type: 'image/svg+xml' }), `${name}.svg`)
  }
  return (
    <figure class='chart'>
      <figcaption><b>{title}</b><span class='spacer' /><button type='button' class='quiet' onClick={saveFile}><Icon name='save' />Save SVG</button></figcaption>
      <svg ref={svg} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role='img' aria-label={`Chart of ${title}; the table has the same numbers`} onPointerMove={point} onPointerLeave={() => setPointed(undefined)}>
        {ticks.map((tick) => <g key={tick}><line class={tick === 0 ? 'axis' : 'tick'} x1={AROUND.left} x2={WIDTH - AROUND.right} y1={y(tick)} y2={y(tick)} /><text class='label' x={AROUND.left - 8} y={y(tick) + 4} text-anchor='end'>{short.format(tick)}</text></g>)}
        {labels.map((label, index) => index % every === 0 && <text key={label} class='label' x={x(index)} y={HEIGHT - AROUND.bottom + 18} text-anchor='middle'>{label.length > 12 ? `${label.slice(0, 11)}…` : label}</text>)}
        {pointed !== undefined && <rect class='pointed' x={x(pointed) - slot / 2} y={AROUND.top} width={slot} height={height} />}
        {kind === 'bars'
          ? series.map((each, at) => each.values.map((value, index) => value !== undefined && <rect key={`${each.name} ${labels[index] ?? ''}`} class={`s${at}`} x={x(index) - bar * series.length / 2 + bar * at} width={Math.max(1, bar - 1)} y={Math.min(y(value), y(0))} height={Math.abs(y(value) - y(0))} rx={2} />))
          : series.map((each, at) => <path key={each.name} class={`line s${at}`} d={pathOf(each.values, x, y)} />)}
        {kind === 'line' && series.map((each, at) => each.values.map((value, index) => value !== undefined && (labels.length <= 40 || index === pointed) && <circle key={`${each.name} ${labels[index] ?? ''}`} class={`dot s${at}`} cx={x(index)} cy={y(value)} r={index === pointed ? 4.5 : 2.5} />))}
        {pointed !== undefined && <text class='here' x={x(pointed) + (pointed > labels.length / 2 ? -8 : 8)} y={AROUND.top + 12} text-anchor={pointed > labels.length / 2 ? 'end' : 'start'}>{labels[pointed]}: {series.map(({ values }) => values[pointed]?.toLocaleString('en') ?? '–').join(', ')}</text>}
      </svg>
      {series.length > 1 && <p class='legend'>{series.map(({ name }, at) => <span key={name}><i class={`s${at}`} />{name}</span>)}</p>}
      <p class='pointer' aria-live='off'>{pointed === undefined ? 'Point at the chart to read a value.' : <><b>{labels[pointed]}</b> {series.map(({ name, values }) => `${series.length > 1 ? `${name}: ` : ''}${values[pointed]?.toLocaleString('en') ?? '–'}`).join(' · ')}</>}</p>
    </figure>
  )
}

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
