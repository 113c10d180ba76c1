# SPDX-License-Identifier: Apache-2.0
"""The elements of dashboards, in Grafana's Classic JSON model: queries, panels, variables, annotations.

Each function returns the object as Grafana reads it; `dashboards.py` puts them together and `generate.py` writes them.
"""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, RED, BLUE = "green", "yellow", "red", "blue"

#: Labels that a query is narrowed by: every series has the first two, those of a run and of a model have more.
SCRAPE = ("job", "instance")
RUN = (*SCRAPE, "device", "stack")
MODEL = (*RUN, "model", "batch", "dtype", "dims")
HOST = (*SCRAPE, "device", "host")
#: Labels that a series may lack: not every model has sizes beside its batch, and runs of older programs do not say their host.
OPTIONAL = ("dims", "host")


def series(metric, labels, /, **where):
    """A selector: the metric, narrowed by the variables named like its labels, and by values of its own; `a|b` is either."""
    matchers = [f'{label}=~"${label}"' for label in labels] + [f'{label}{"=~" if "|" in value else "="}"{value}"' for label, value in where.items()]
    return f"{metric}{{{', '.join(matchers)}}}"


def latest(metric, labels, /, **where):
    """The newest value within the window that the reader chose: nightly results are older than Prometheus looks back by itself."""
    return f"last_over_time({series(metric, labels, **where)}[$window])"


def history(metric, labels, /, **where):
    """One value for each step of a graph; the windows of the steps touch, so that no result falls between two of them."""
    return f"last_over_time({series(metric, labels, **where)}[$__interval])"


def link(title, url, blank=False):
    """A link as the schema wants it, with every field said."""
    return {"title": title, "type": "link", "url": url, "icon": "external link", "tooltip": "", "tags": [], "asDropdown": False,
            "targetBlank": blank, "includeVars": False, "keepTime": False}


def steps(first, *others):
    """Thresholds: a colour, and the values from which another one holds."""
    return {"mode": "absolute", "steps": [{"value": None, "color": first}, *({"value": at, "color": color} for at, color in others)]}


def target(letter, query, legend="", instant=False):
    kind = {"instant": True, "range": False, "format": "table"} if instant else {"instant": False, "range": True, "format": "time_series"}
    return {"refId": letter, "datasource": SOURCE, "expr": query, "legendFormat": legend or "__auto", "editorMode": "code", **kind}


def targets(queries, instant=False):
    """Targets A, B, C… of queries given as text, or as pairs of query and legend."""
    pairs = [(query, "") if isinstance(query, str) else query for query in queries]
    return [target(chr(ord("A") + i), query, legend, instant) for i, (query, legend) in enumerate(pairs)]


def panel(kind, title, description, queries, unit, size, *, instant=False, defaults=None, overrides=(), options=None, changes=()):
    """A panel of any kind; `size` is width (of 24) and height; `changes` are Grafana's transformations as pairs."""
    return {
        "type": kind, "title": title, "description": description, "datasource": SOURCE, "size": size,
        "targets": targets(queries, instant),
        "fieldConfig": {"defaults": {"unit": unit, **(defaults or {})}, "overrides": list(overrides)},
        "options": options or {},
        "transformations": [{"id": name, "options": settings} for name, settings in changes],
        **({} if instant else {"interval": "5m"}),
    }


def override(name, by="byName", **properties):
    """Properties of the columns or series with a name; in names of properties `__` stands for a dot."""
    return {"matcher": {"id": by, "options": name},
            "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]}


def stat(title, description, query, unit="none", thresholds=None, links=(), size=(3, 4)):
    """One number, coloured by thresholds."""
    return panel("stat", title, description, [query], unit, size, instant=True,
                 defaults={"thresholds": thresholds or steps(BLUE), "color": {"mode": "thresholds"}, "noValue": "–", "links": list(links)},
                 options={"colorMode": "background", "graphMode": "none", "textMode": "value", "justifyMode": "auto", "orientation": "auto",
                          "reduceOptions": {"calcs": ["lastNotNull"], "fields": "/^Value$/", "values": False}})


def graph(title, description, *queries, unit, size=(12, 9), stacked=False, faint=None, thresholds=None, minimum=0, maximum=None):
    """Lines over time, from zero unless told. `faint` is a regular expression of series that are drawn dashed and have no entry in the legend."""
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 30 if stacked else 0, "showPoints": "auto", "pointSize": 5, "spanNulls": True,
              "stacking": {"mode": "normal" if stacked else "none", "group": "A"}, "thresholdsStyle": {"mode": "dashed" if thresholds else "off"}}
    defaults = {"custom": custom, "color": {"mode": "palette-classic"}, "noValue": "–", "min": minimum}
    defaults.update({name: value for name, value in (("thresholds", thresholds), ("max", maximum)) if value is not None})
    dashed = {"custom__lineStyle": {"fill": "dash", "dash": [4, 6]}, "custom__showPoints": "never",
              "custom__hideFrom": {"legend": True, "tooltip": False, "viz": False}}
    return panel("timeseries", title, description, queries, unit, size, defaults=defaults,
                 overrides=[override(faint, "byRegexp", **dashed)] if faint else [],
                 options={"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull"]},
                          "tooltip": {"mode": "multi", "sort": "desc"}})


def bars(title, description, *queries, unit, size=(12, 9), thresholds=None):
    """One horizontal bar for each series, newest values."""
    made = panel("bargauge", title, description, queries, unit, size,
                 defaults={"thresholds": thresholds or steps(BLUE), "color": {"mode": "thresholds"}, "min": 0, "noValue": "–"},
                 options={"orientation": "horizontal", "displayMode": "basic", "showUnfilled": True, "valueMode": "color",
                          "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}})
    for each in made["targets"]:
        each.update(instant=True, range=False)
    return made


#: From red at 0 to green at 1, for cells of heat maps.
HEAT = {"color": {"mode": "continuous-RdYlGr"}, "min": 0, "max": 1, "thresholds": steps("text")}


def timeline(title, description, *queries, unit="none", size=(24, 8), mappings=(), status=False):
    """One row for each series: coloured by state as long as it lasts, or (`status`) one cell for each step, from red at 0 to green at 1."""
    return panel("status-history" if status else "state-timeline", title, description, queries, unit, size,
                 defaults={**(HEAT if status else {"thresholds": steps(BLUE), "color": {"mode": "thresholds"}}),
                           "mappings": list(mappings), "noValue": "–",
                           "custom": {"fillOpacity": 80, "lineWidth": 0, **({} if status else {"spanNulls": True})}},
                 options={"showValue": "never" if status else "auto", "rowHeight": 0.9,
                          "legend": {"displayMode": "list", "placement": "bottom", "showLegend": not status},
                          "tooltip": {"mode": "single", "sort": "none"}, **({} if status else {"mergeValues": True, "alignValue": "left"})})


#: Headings of labels in tables, where the label's own name does not do.
HEADINGS = {"dtype": "Type", "dims": "Sizes", "metric": "Quantity", "state": "Verdict", "whatif": "What if", "kind": "Bound", "instance": "Exporter"}


def table(title, description, of, values, size=(24, 9), links=None, colors=None, sort=None):
    """One row for each combination of the labels `of`, with the largest of each of `values`: heading, unit, query. A heading None
    narrows the rows and is not shown. `links` and `colors` are links and thresholds by heading; `sort` is a heading and whether downwards."""
    shown = {label: (HEADINGS.get(label, label.capitalize()), "string") for label in of}
    for letter, (heading, unit, _) in zip("ABCDEFGH", values):
        if heading:
            shown[f"Value #{letter}" if len(values) > 1 else "Value"] = (heading, unit)
    overrides = [override(heading, unit=unit) for heading, unit in shown.values()]
    overrides += [override(heading, links=[link(*each) for each in several]) for heading, several in (links or {}).items()]
    overrides += [override(heading, thresholds=levels, custom__cellOptions={"type": "color-background", "mode": "basic"})
                  for heading, levels in (colors or {}).items()]
    organize = {"renameByName": {name: heading for name, (heading, _) in shown.items()},
                "indexByName": {name: i for i, name in enumerate(shown)}, "includeByName": {name: True for name in shown}}
    merged = [("merge", {})] if len(values) > 1 else []
    return panel("table", title, description, [f"max by ({', '.join(of)}) ({query})" for _, _, query in values], "none", size, instant=True,
                 defaults={"custom": {"align": "auto", "filterable": True}, "noValue": "–"}, overrides=overrides,
                 options={"showHeader": True, "cellHeight": "sm", "sortBy": [{"displayName": sort[0], "desc": sort[1]}] if sort else []},
                 changes=[*merged, ("organize", organize)])


def matrix(title, description, query, rows, columns, unit, size=(12, 12)):
    """A heat map as a table: the labels `rows` of each value name its row, the labels `columns` its column; 0 is red, 1 is green."""
    for name, labels in (("row", rows), ("column", columns)):
        quoted = ", ".join(f'"{label}"' for label in labels)
        query = f'label_join({query}, "{name}", " · ", {quoted})'
        query = f'label_replace({query}, "{name}", "$1", "{name}", "(.*[^ ·])[ ·]*")'
    return panel("table", title, description, [query], unit, size, instant=True,
                 defaults={**HEAT, "noValue": "–",
                           "custom": {"align": "center", "cellOptions": {"type": "color-background", "mode": "basic"}}},
                 overrides=[override("row\\column", custom__align="left", custom__cellOptions={"type": "auto"}, unit="string")],
                 options={"showHeader": True, "cellHeight": "sm"},
                 changes=[("groupingToMatrix", {"rowField": "row", "columnField": "column", "valueField": "Value", "emptyValue": "null"})])


def source():
    """The choice of the Prometheus that is asked."""
    return {"name": "datasource", "label": "Data source", "description": "The Prometheus that scrapes Plumbline", "type": "datasource",
            "query": "prometheus", "current": {"text": "default", "value": "default"}, "multi": False, "includeAll": False}


def variable(name, heading, metric, before, description, *, label=None, multi=True, descending=False):
    """A choice among the values of a label, as far as the choices `before` leave any; the first one is taken, or all of them."""
    query = f"label_values({series(metric, before)}, {label or name})"
    all_of_them = {"allValue": ".*" if name in OPTIONAL else ".+", "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}
    return {"name": name, "label": heading, "description": description, "type": "query", "datasource": SOURCE, "query": query, "definition": query,
            "refresh": 2, "sort": 2 if descending else 1, "multi": multi, "includeAll": multi, **(all_of_them if multi else {})}


def choice(name, label, values, description):
    """A choice among given values, the first by default."""
    options = [{"selected": i == 0, "text": value, "value": value} for i, value in enumerate(values)]
    return {"name": name, "label": label, "description": description, "type": "custom", "query": ",".join(values), "options": options,
            "current": options[0], "multi": False, "includeAll": False}


def address(name, label, value, description):
    """A text that the reader can change."""
    option = {"selected": True, "text": value, "value": value}
    return {"name": name, "label": label, "description": description, "type": "textbox", "query": value, "options": [option], "current": option}


STORE = {"type": "postgres", "uid": "${store}"}


def store():
    """The choice of the PostgreSQL server that keeps the results."""
    return {"name": "store", "label": "Store", "description": "The PostgreSQL database of Plumbline's results, as the role plumb_reader",
            "type": "datasource", "query": "postgres", "current": {"text": "default", "value": "default"}, "multi": False, "includeAll": False}


def of_store(made, sql, form="table"):
    """A panel that asks the store by SQL instead of Prometheus; `form` is table or time_series."""
    target = {"refId": "A", "datasource": STORE, "rawSql": sql, "rawQuery": True, "format": form, "editorMode": "code"}
    return {**made, "datasource": STORE, "targets": [target]}


def sql_table(title, description, sql, units, size=(24, 9), colors=None, sort=None):
    """One row for each of the answer; `units` are the units of the columns by their names."""
    overrides = [override(column, unit=unit) for column, unit in units.items()]
    overrides += [override(column, thresholds=levels, custom__cellOptions={"type": "color-background", "mode": "basic"})
                  for column, levels in (colors or {}).items()]
    return of_store(panel("table", title, description, [], "none", size, instant=True,
                          defaults={"custom": {"align": "auto", "filterable": True}, "noValue": "–"}, overrides=overrides,
                          options={"showHeader": True, "cellHeight": "sm", "sortBy": [{"displayName": sort[0], "desc": sort[1]}] if sort else []}),
                    sql)


def sql_graph(title, description, sql, unit, size=(12, 9), minimum=0):
    """Lines over time: the answer has the columns `time`, `metric` and `value`."""
    return of_store(graph(title, description, unit=unit, size=size, minimum=minimum), sql, "time_series")


def sql_stat(title, description, sql, unit="none", thresholds=None, size=(6, 4)):
    """One number."""
    return of_store(stat(title, description, "", unit, thresholds, size=size), sql)


def annotation(name, query, title, text, color):
    """Marks on every graph where the query has a value."""
    return {"name": name, "datasource": SOURCE, "enable": True, "iconColor": color, "expr": query, "step": "1h",
            "titleFormat": title, "textFormat": text, "tagKeys": ""}
