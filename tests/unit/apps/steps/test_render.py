from typing import Any

import pytest

from nestor.apps.steps import render
from nestor.apps.steps.render import RenderError

PARAMETERS: dict[str, Any] = {
    "size": 3,
    "ratio": 0.5,
    "name": "web",
    "hosts": ["a", "b"],
    "debug": True,
    "quiet": False,
    "empty": "",
    "-c": "blue",
}
FACTS = {"name": "hello", "namespace": "team-a", "url": "https://hello-team-a.jobs.test/"}


def run(text: str) -> str:
    return render.render(text, name="web.yml", parameters=PARAMETERS, facts=FACTS)


def fault(text: str) -> str:
    with pytest.raises(RenderError) as refused:
        run(text)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("replicas: {{ size }}", "replicas: 3"),
        ("{{ name }}-{{ job.name }}.{{ job.namespace }} {{ job.url }}", "web-hello.team-a https://hello-team-a.jobs.test/"),
        ("{{ parameters['-c'] }} {{ parameters.name }}", "blue web"),
        ("{{ debug }} {{ quiet }} {{ ratio }} [{{ none }}]", "true false 0.5 []"),
        ("{{ hosts | join(', ') }} {{ hosts | tojson }} {{ debug | tojson }}", 'a, b ["a", "b"] true'),
        ("{{ name | upper }}{{ name ~ size }}{{ size * 2 + 1 }}{{ 7 % size }}{{ 2 ** 3 }}", "WEBweb3718"),
        ("{{ missing | default('x') }} {{ missing is defined }} {{ size is defined }}", "x false true"),
        ("{{ 'ä' | b64encode }} {{ \"it's\" | quote }}", "w6Q= 'it'\"'\"'s'"),
        ("{{ 'a\\nb\\n\\nc' | indent(4) }}", "a\n    b\n\n    c"),
        ("{{ 'a\\nb' | indent(2, true) }}{{ 'aXb' | replace('X', '-') }}", "  a\n  ba-b"),
        ("{% if debug %}on{% else %}off{% endif %}{{ 'x' if quiet else 'y' }}", "ony"),
        ("{% set a = size + 1 %}{{ a }}{% with b = 2 %}{{ b }}{% endwith %}", "42"),
        ("{% for key, value in {'a': 1}.items() %}{{ key }}={{ value }}{% endfor %}", "a=1"),
        ("{{ hosts | map('upper') | join }} {{ hosts[0] }} {{ hosts | length }} {{ name.startswith('w') }}", "AB a 2 true"),
        ("{{ range(size) | sum }} {{ range(size) | tojson }}", "3 [0, 1, 2]"),
        ("{% raw %}{{ inputs.x }}{% endraw %}", "{{ inputs.x }}"),
        ("a {# a remark #}b", "a b"),
        ("no marks: {a: [1]} %} }}", "no marks: {a: [1]} %} }}"),
    ],
)
def test_templates_see_parameters_and_the_job(text: str, rendered: str) -> None:
    assert run(text) == rendered


def test_a_line_with_only_a_statement_leaves_nothing() -> None:
    text = "items:\n  {% for host in hosts %}\n  - {{ host }}: {{ loop.index }}/{{ loop.length }}\n  {% endfor %}\nend: true\n"
    assert run(text) == "items:\n  - a: 1/2\n  - b: 2/2\nend: true\n"


@pytest.mark.parametrize("text", ["a\r\nb {{ size }}\r\n", "a\nb {{ size }}\n", "a\nb {{ size }}", "{{ size }}\r\n\r\n"])
def test_line_ends_stay_what_they_are(text: str) -> None:
    assert run(text) == text.replace("{{ size }}", "3")


KNOWN = "size, ratio, name, hosts, debug, quiet, empty, -c, job.name, job.namespace, job.url"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: {{ seize }}\n", f"template 'web.yml', line 2: 'seize' is undefined; available: {KNOWN}"),
        ("\n\n{{ job.host }}", f"template 'web.yml', line 3: 'job.host' is undefined; available: {KNOWN}"),
        ("{{ parameters.x }}", f"template 'web.yml', line 1: 'parameters.x' is undefined; available: {KNOWN}"),
        ("{{ name ~ seize }}", f"template 'web.yml', line 1: 'seize' is undefined; available: {KNOWN}"),
        ("{{ seize | tojson }}", f"template 'web.yml', line 1: 'seize' is undefined; available: {KNOWN}"),
        ("{% if %}", "template 'web.yml', line 1: Expected an expression, got 'end of statement block'"),
        ("a\n{{ size", "template 'web.yml', line 2: unexpected end of template, expected 'end of print statement'."),
        ("{% for x in hosts %}", "line 1: Unexpected end of template."),
        ("\n{{ name | centre(9) }}", "template 'web.yml', line 2: No filter named 'centre'."),
        ("{{ hosts }}", "line 1: list cannot be converted to text: use `join` or `tojson`"),
        ("{{ 1 / 0 }}", "line 1: division by zero"),
        ("{{ name + 1 }}", "line 1: can only concatenate str"),
    ],
)
def test_errors_name_file_line_and_variable(text: str, message: str) -> None:
    assert message in fault(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ ().__class__.__bases__[0].__subclasses__() }}", "access to attribute '__class__' of 'tuple' object is unsafe"),
        ("{{ name.__init__.__globals__ }}", "access to attribute '__init__' of 'str' object is unsafe"),
        ("{{ job.__class__ }}", "access to attribute '__class__' of 'Named' object is unsafe"),
        ("{{ job['__class__'] }}", "access to attribute '__class__' of 'Named' object is unsafe"),
        ("{{ self._TemplateReference__context }}", "access to attribute '_TemplateReference__context'"),
        ("{% for x in hosts %}{{ loop._iterator }}{% endfor %}", "access to attribute '_iterator' of 'LoopContext'"),
        ("{{ range.__class__ }}", "access to attribute '__class__' of 'function' object is unsafe"),
        ("{{ range | attr('__globals__') }}", "access to attribute '__globals__' of 'function' object is unsafe"),
        ("{{ 'x' | attr('__class__') }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ hosts | map(attribute='__class__') | tojson }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ hosts | groupby('__class__') }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ '{0.__class__}'.format(1) }}", "access to attribute '__class__' of 'int' object is unsafe"),
        ("{{ (['{0.__class__}'.format] | first)(1) }}", "access to attribute '__class__' of 'int' object is unsafe"),
        ("{{ ('{0.__class__}' | attr('format'))(1) }}", "access to attribute '__class__' of 'int' object is unsafe"),
        ("{{ '{x.__class__}'.format_map({'x': 1}) }}", "access to attribute '__class__' of 'int' object is unsafe"),
        ("{% macro a() %}{% endmacro %}{{ a.__class__ }}", "access to attribute '__class__' of 'Macro' object is unsafe"),
        ("{{ hosts.append('x') }}", "access to attribute 'append' of 'list' object is unsafe"),
        ("{{ parameters.update({}) }}", "access to attribute 'update' of 'Named' object is unsafe"),
        ("{{ cycler }}", "'cycler' is undefined"),
        ("{{ namespace() }}", "'namespace' is undefined"),
        ("{% include '/etc/passwd' %}", "no loader for this environment specified"),
        ("{% import 'x' as y %}", "no loader for this environment specified"),
        ("{% extends 'x' %}", "no loader for this environment specified"),
    ],
)
def test_there_is_no_way_out_of_the_sandbox(text: str, message: str) -> None:
    assert f"template 'web.yml', line 1: {message}" in fault(text)


def test_templates_do_not_change_what_they_see() -> None:
    run("{% set hosts = hosts + ['c'] %}{{ hosts | length }}")
    assert PARAMETERS["hosts"] == ["a", "b"]


def test_values_are_rendered_string_by_string() -> None:
    values = {"replicas": "{{ size }}", "list": ["{{ name }}", 3, None, True], "{{ key }}": {"deep": "x{{ job.name }}"}}
    assert render.render_values(values, name="values", parameters=PARAMETERS, facts=FACTS) == {
        "replicas": "3",
        "list": ["web", 3, None, True],
        "{{ key }}": {"deep": "xhello"},
    }
    with pytest.raises(RenderError, match=r"template 'values.a\[1\]', line 1: 'seize' is undefined"):
        render.render_values({"a": ["", "{{ seize }}"]}, name="values", parameters=PARAMETERS, facts=FACTS)


def test_a_parameter_named_job_does_not_hide_the_job() -> None:
    text = "{{ job.name }} {{ parameters['job'] }}"
    assert render.render(text, name="x", parameters={"job": "mine"}, facts=FACTS) == "hello mine"
